"""Tasks in which exploration decides: what they are, how long they are trained, and who defined them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal, NamedTuple

from rle.checks import nearest
from rle.errors import UsageError
from rle.tasks.suite import Suite, Wanted, register

if TYPE_CHECKING:
    from rle.tasks.base import Task

Kind = Literal["states", "view", "control", "centred", "robot"]
"""Of observations; the tasks of a kind share their settings: numbered states and coordinates of cells,
MiniGrid's symbolic view, measurements of moving things, the same centred already, and of a robot."""


class About(NamedTuple):
    """What a task is, in words and numbers."""

    kind: Kind
    steps: int
    """Agent steps of a run."""
    line: str
    """For `rle list tasks`: what succeeds, and whose task it is."""


class Engine(NamedTuple):
    """An EnvPool environment, and when an episode of it succeeds."""

    env_id: str
    steps_per_second: float
    by_ending: bool
    """Whether its end counts towards success, rather than each rewarded step."""
    needed: int = 1
    """Such steps that make a success."""
    observed: tuple[str, ...] = ()
    """Parts of an observation that is a dictionary; none named: all."""
    extra: str = "envpool"
    held: int = 1
    """Frames of the engine for which it holds an action: one step."""


_MINIGRID = "(MiniGrid on EnvPool, extra: envpool)"
ABOUT: Mapping[str, About] = {
    "DeepSea": About(
        "states", 1_000_000, "the chest at the end of N moves to the right (Osband et al. 2019)"
    ),
    "FourRoom": About("states", 1_000_000, "fourroom-sparse: the far corner of four rooms"),
    "Maze": About("states", 1_000_000, "the farthest cell of a maze made from a seed"),
    "DoorKey-8x8": About("view", 500_000, f"a key, a door, a goal {_MINIGRID}"),
    "DoorKey-6x6": About("view", 300_000, f"the same in a smaller room, for tuning {_MINIGRID}"),
    "MultiRoom-N2-S4": About("view", 500_000, f"two rooms, the goal in the last {_MINIGRID}"),
    "MultiRoom-N4-S5": About("view", 500_000, f"four rooms, the goal in the last {_MINIGRID}"),
    "KeyCorridorS3R2": About("view", 500_000, f"a hidden key, a ball behind a door {_MINIGRID}"),
    "KeyCorridorS3R3": About("view", 500_000, f"the same with more rooms {_MINIGRID}"),
    "MountainCar": About("control", 300_000, "the hill's top (Moore 1990; extra: envpool)"),
    "MountainCarContinuous": About("control", 300_000, "the same by a force that costs"),
    "CartpoleSwingupSparse": About(
        "control", 2_000_000, "a pole upright for half of the time (dm_control; extra: control)"
    ),
    "AcrobotSwingupSparse": About(
        "control", 400_000, "two links upright at some time (dm_control; extra: control)"
    ),
    "PointMaze-U": About("centred", 300_000, "a ball pushed through D4RL's U maze"),
    "PointMaze-Medium": About("centred", 300_000, "the same in the medium maze"),
    "PointMaze-Large": About("centred", 300_000, "the same in the large maze"),
    "AntFree": About("robot", 150_000, "an ant without reward: how much of the plane it reaches"),
}
"""By task, or by family where tasks are numbered."""

ENGINES: Mapping[str, Engine] = {
    **{
        name: Engine(f"MiniGrid-{name}-v0", 10, by_ending=False)
        for name, about in ABOUT.items()
        if about.kind == "view"
    },
    "MountainCar": Engine("MountainCar-v0", 30, by_ending=True),
    "MountainCarContinuous": Engine("MountainCarContinuous-v0", 30, by_ending=True),
    "CartpoleSwingupSparse": Engine(
        "CartpoleSwingupSparse-v1", 25, False, 125, ("position", "velocity"), "control", held=4
    ),
    "AcrobotSwingupSparse": Engine(
        "AcrobotSwingupSparse-v1", 100, False, 1, ("orientations", "velocity"), "control"
    ),
}

NUMBERED: Mapping[str, tuple[str, str]] = {
    "DeepSea": ("<N>", r"DeepSea-([1-9]\d*)"),
    "Maze": ("<size>-<seed>", r"Maze-([1-9]\d*)-(0|[1-9]\d*)"),
}
"""Families of tasks: what follows the name, for people and as a pattern."""
DEEPEST = 64
"""The largest N: the diver's cell is seen as N² numbers."""
LARGEST_MAZE = 101

EXAMPLES = (
    *(f"DeepSea-{size}" for size in (10, 20, 30, 50)),
    *(f"Maze-{size}-{seed}" for size, seed in ((11, 0), (15, 0), (21, 0))),
)
NAMES = (*EXAMPLES, *(name for name in ABOUT if name not in NUMBERED))
"""Tasks to suggest."""


def parsed(name: str) -> tuple[str, tuple[int, ...]]:
    """The family of a task and the numbers in its name; raises `UsageError` unless there is such."""
    for family, (_, pattern) in NUMBERED.items():
        found = re.fullmatch(pattern, name)
        if found:
            numbers = tuple(int(number) for number in found.groups())
            _check_numbers(name, family, numbers)
            return family, numbers
    if name not in ABOUT or name in NUMBERED:
        raise UsageError(f"sparse has no task {name!r}: {nearest(name, NAMES)}")
    return ("PointMaze" if name.startswith("PointMaze") else name), ()


def _check_numbers(name: str, family: str, numbers: tuple[int, ...]) -> None:
    size = numbers[0]
    if family == "DeepSea" and not 2 <= size <= DEEPEST:
        raise UsageError(f"sparse/{name} has no sea: give an N from 2 to {DEEPEST}.")
    if family == "Maze" and not (5 <= size <= LARGEST_MAZE and size % 2):
        raise UsageError(f"sparse/{name} has no maze: give an odd size from 5 to {LARGEST_MAZE}.")


def about(name: str) -> About:
    """What is known of the task called `name`."""
    family, _ = parsed(name)
    return ABOUT[name if name in ABOUT else family]


def _check(name: str) -> None:
    parsed(name)


def _build(wanted: Wanted) -> Task:
    from rle.tasks.sparse.build import make_sparse_task

    return make_sparse_task(wanted)


def _takes(name: str) -> tuple[str, ...]:
    return ("engine_threads",) if name in ENGINES or name == "AntFree" else ()


SUITE = register(
    Suite(
        name="sparse",
        tasks={
            f"{name}-{NUMBERED[name][0]}" if name in NUMBERED else name: task.line
            for name, task in ABOUT.items()
        },
        build=_build,
        names=lambda: NAMES,
        check=_check,
        takes=_takes,
        images=False,
        pays=lambda name: name != "AntFree",
        judged=lambda name: "coverage" if name == "AntFree" else "success",
    )
)
