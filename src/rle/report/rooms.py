"""How many of the four rooms an agent's trajectories reach: what the paper says of its third figure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rle.report.looks import TRAJECTORIES, Looks
from rle.report.methods import Method
from rle.report.pictures import Moment
from rle.report.trajectories import IntArray
from rle.stats import Bootstrap, Interval, mean_interval
from rle.tasks import fourroom

ROOMS = 4
RULE = (
    f"Each agent is watched for {TRAJECTORIES} trajectories from the start, with sampled actions, each "
    "as long as the task's time limit (or until the goal). With RLE each follows its own z all the "
    "way, with NoisyNet its own sample of weight noise. A room is reached if any of them enters a cell "
    "of it; the four rooms are the squares of 25 × 25 cells, the doors belong to none, and the start "
    "room is always reached. Distinct cells are the free cells, at most 2504, that the "
    f"{TRAJECTORIES} trajectories enter together, the start included."
)


@dataclass(frozen=True, eq=False)
class Reach:
    """How far the trajectories of a method reach at one moment of training."""

    method: str
    """Its label."""
    moment: Moment
    steps: dict[int, int]
    """Of the checkpoints, by seed; seeds without one are absent here and below."""
    rooms: dict[int, int]
    """Rooms reached, by seed."""
    cells: dict[int, int]
    """Distinct cells, by seed."""
    mean_cells: Interval

    @property
    def mean_rooms(self) -> float:
        """Without an interval: seeds often agree on so small a number, and would seem certain."""
        return sum(self.rooms.values()) / len(self.rooms)

    @property
    def all_rooms(self) -> int:
        """Seeds whose trajectories reach all four rooms."""
        return sum(number == ROOMS for number in self.rooms.values())


def rooms_reached(cells: IntArray) -> int:
    """How many rooms the trajectories `[T, N]` enter, together."""
    rows, columns = np.divmod(np.unique(cells), fourroom.SIZE)
    inside = (rows != fourroom.WALL) & (columns != fourroom.WALL)
    room = 2 * (rows > fourroom.WALL) + (columns > fourroom.WALL)
    return len(np.unique(room[inside]))


def distinct_cells(cells: IntArray) -> int:
    """How many cells the trajectories `[T, N]` enter, together."""
    return len(np.unique(cells))


def measure_reach(
    methods: Sequence[Method], looks: Looks, bootstrap: Bootstrap
) -> tuple[Reach, ...]:
    """The reach of every method at every moment at which one of its runs was watched."""
    found = (
        _reach(method, moment, looks, bootstrap) for method in methods for moment in looks.moments
    )
    return tuple(reach for reach in found if reach is not None)


def _reach(method: Method, moment: Moment, looks: Looks, bootstrap: Bootstrap) -> Reach | None:
    seen = {run.seed: look for run in method.runs if (look := looks.of(run, moment)) is not None}
    if not seen:
        return None
    rooms = {seed: rooms_reached(look.cells) for seed, look in seen.items()}
    cells = {seed: distinct_cells(look.cells) for seed, look in seen.items()}
    free = int(fourroom.free_cells().sum())
    return Reach(
        method.label,
        moment,
        {seed: look.step for seed, look in seen.items()},
        rooms,
        cells,
        mean_interval([float(n) for n in cells.values()], (1.0, float(free)), bootstrap),
    )
