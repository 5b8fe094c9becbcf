"""How far an agent's trajectories reach, and how different those of different z are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from rle.report.measure.plan import TRAJECTORIES, Plan
from rle.report.measure.watched import Looks, watch_all, watched
from rle.report.read.methods import Method, TaskGroup
from rle.report.read.moments import Moment, Problems, attempt
from rle.report.read.records import FloatArray, IntArray, RunRecord
from rle.stats import Bootstrap, Interval, mean_interval
from rle.tasks import fourroom_plan

LATENTS = 8
REPEATS = 8
"""Diversity is measured on 8 trajectories of each of 8 z."""
PERIOD = 128
"""Length of the trajectories diversity is measured on: the steps under one z in the paper."""
UNDER_EACH = Plan(LATENTS, REPEATS, PERIOD)
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
    rows, columns = np.divmod(np.unique(cells), fourroom_plan.SIZE)
    inside = (rows != fourroom_plan.WALL) & (columns != fourroom_plan.WALL)
    room = 2 * (rows > fourroom_plan.WALL) + (columns > fourroom_plan.WALL)
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
    free = int(fourroom_plan.free_cells().sum())
    return Reach(
        method.label,
        moment,
        {seed: look.step for seed, look in seen.items()},
        rooms,
        cells,
        mean_interval([float(n) for n in cells.values()], (1.0, float(free)), bootstrap),
    )


@dataclass(frozen=True)
class Diversity:
    """Mean pairwise Jaccard distances between the sets of cells trajectories visit."""

    between: float | None
    """Of trajectories under different z; None for agents without z."""
    within: float
    """Of repeated trajectories under one z: what action noise alone does."""


Diversities = dict[str, Diversity]
"""By the name of the run."""


def jaccard_distances(cells: IntArray) -> FloatArray:
    """`[N, N]`: 1 - |A ∩ B| / |A ∪ B| of the sets of cells of trajectories `[T, N]`."""
    visited = np.zeros((cells.shape[1], fourroom_plan.SIZE**2), dtype=np.int64)
    visited[np.arange(cells.shape[1])[None], cells] = 1
    shared = visited @ visited.T
    sizes = visited.sum(axis=1)
    distances: FloatArray = 1 - shared / (sizes[:, None] + sizes[None] - shared)
    return distances


def diversity_of(cells: IntArray, draw_of: IntArray | None) -> Diversity:
    """Diversity of trajectories `[T, N]` of which number i was under z number `draw_of[i]`."""
    distances = jaccard_distances(cells)
    number = cells.shape[1]
    other = ~np.eye(number, dtype=bool)
    if draw_of is None:
        return Diversity(None, float(distances[other].mean()))
    same = draw_of[:, None] == draw_of[None]
    return Diversity(float(distances[~same].mean()), float(distances[same & other].mean()))


def measure_diversity(group: TaskGroup, problems: Problems) -> Diversities:
    """Diversity of the agent of every run's last checkpoint."""
    runs = [run for run in group.runs if run.checkpoints]
    watch_all([(run, run.checkpoints[-1], UNDER_EACH) for run in runs])
    found = {}
    for run in runs:
        diversity = attempt(run, "trajectory diversity", problems, partial(_diversity, run))
        if diversity is not None:
            found[run.name] = diversity
    return found


def _diversity(run: RunRecord) -> Diversity:
    return diversity_of(*watched(run, run.checkpoints[-1], UNDER_EACH))
