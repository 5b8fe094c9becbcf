"""The studies of tasks in which exploration decides."""

from __future__ import annotations

from rle.studies.definitions import NOISY, PPO, RANDOM, RLE, RND, Method, Study
from rle.studies.registry import register

METHODS = (PPO, NOISY, RND, RLE, Method("rle-rnd", "rle+rnd"), RANDOM)
SEEDS = 10

TASKS = (
    "DeepSea-20",
    "FourRoom",
    "Maze-15-0",
    "Maze-21-0",
    "DoorKey-8x8",
    "MultiRoom-N2-S4",
    "MultiRoom-N4-S5",
    "KeyCorridorS3R2",
    "KeyCorridorS3R3",
    "MountainCar",
    "MountainCarContinuous",
    "CartpoleSwingupSparse",
    "AcrobotSwingupSparse",
    "PointMaze-U",
    "PointMaze-Medium",
    "PointMaze-Large",
    "AntFree",
)
SIZES = (10, 20, 30, 50)


def _declare(name: str, description: str, tasks: tuple[str, ...]) -> Study:
    """Each task is trained for as long as the suite says."""
    of_suite = tuple(f"sparse/{task}" for task in tasks)
    return register(Study(name, description, of_suite, METHODS, SEEDS, None))


_declare(
    "sparse-suite",
    "which strategy succeeds where plain PPO mostly fails, and how much of the plane an ant reaches",
    TASKS,
)
_declare(
    "deep-sea",
    "how the steps until DeepSea is solved grow with its size",
    tuple(f"DeepSea-{size}" for size in SIZES),
)
