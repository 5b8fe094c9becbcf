"""What every agent does when it is watched at three moments of its training."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from rle.report.methods import TaskGroup
from rle.report.pictures import MOMENTS, Moment, Problems, attempt, checkpoints_of, moments_of
from rle.report.records import RunRecord
from rle.report.trajectories import IntArray, load_for_pictures, time_limit, watch

TRAJECTORIES = 20
"""Trajectories an agent is watched for, each under its own z and as long as an episode may be."""


@dataclass(frozen=True, eq=False)
class Look:
    """Trajectories of the agent of one checkpoint."""

    step: int
    """Of the checkpoint."""
    cells: IntArray
    """`[steps + 1, 20]`, the cells passed, the start first."""


@dataclass(frozen=True, eq=False)
class Looks:
    """All looks at the agents of a task."""

    moments: tuple[Moment, ...]
    """Those that at least one run has a checkpoint of."""
    found: dict[tuple[str, Moment], Look]
    """By the name of the run and the moment; absent without a checkpoint that can be read."""

    def of(self, run: RunRecord, moment: Moment) -> Look | None:
        """The look at one run."""
        return self.found.get((run.name, moment))


NO_LOOKS = Looks((), {})
"""Of tasks that are not grid worlds."""


def look_at_all(group: TaskGroup, problems: Problems) -> Looks:
    """Watch every agent of a task at every moment that was recorded."""
    moments = moments_of([checkpoints_of(run) for run in group.runs], MOMENTS)
    found = {}
    for run in group.runs:
        for moment in moments:
            step = checkpoints_of(run).nearest(moment)
            if step is not None:
                look = attempt(run, "trajectories", problems, partial(_look, run, step))
                if look is not None:
                    found[run.name, moment] = look
    return Looks(tuple(moments), found)


def _look(run: RunRecord, step: int) -> Look:
    agent = load_for_pictures(run, step)
    cells, _ = watch(agent, TRAJECTORIES, 1, time_limit(agent))
    return Look(step, cells)
