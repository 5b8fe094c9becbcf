"""The studies of tasks in which exploration decides."""

from __future__ import annotations

from rle.studies.definitions import NOISY, PPO, RANDOM, RLE, RND, Method, Study, rle_with
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

TUNING = ("DeepSea-14", "Maze-13-1", "DoorKey-6x6", "PointMaze-U")
"""What the default was chosen on, with seeds from 201 on."""
INGREDIENTS = (
    PPO,
    RLE,
    rle_with("without-rarity", rarity=0.0),
    rle_with("rarity-not-centred", centre_rarity=False),
    rle_with("rarity-not-episodic", episodic_rarity=False),
    # The paper's form of F.
    rle_with(
        "not-whitened",
        whitened_features=0,
        rarity=0.0,
        unit_norm=True,
        feature_hidden=(64, 64, 64),
    ),
    rle_with("not-annealed", anneal=False),
    rle_with("not-faded", fade=False),
    Method("rle-loud-first-values", "rle", {"network.value_gain": 1.0}),
    Method("rle-enlarged-rewards", "rle", {"learner.enlarge_reward": True}),
    rle_with("d32", dimension=32),
)
"""The default with one of its ingredients taken out."""


def _declare(
    name: str, description: str, tasks: tuple[str, ...], methods: tuple[Method, ...] = METHODS
) -> Study:
    """Each task is trained for as long as the suite says."""
    of_suite = tuple(f"sparse/{task}" for task in tasks)
    return register(Study(name, description, of_suite, methods, SEEDS, None))


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
_declare(
    "sparse-ablation",
    "what each ingredient of the default is worth, on the tasks it was chosen on",
    TUNING,
    INGREDIENTS,
)
