"""Agents watched at three moments of training, each once: what they did is kept beside the run."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

import numpy as np

from rle.report.measure.kept import keep, kept_file, key_of, read_kept
from rle.report.measure.plan import TRAJECTORIES, Plan
from rle.report.read.methods import TaskGroup
from rle.report.read.moments import MOMENTS, Moment, Problems, attempt, checkpoints_of, moments_of
from rle.report.read.records import FloatArray, IntArray, RunRecord
from rle.report.read.settings import time_limit
from rle.report.together import each


def watched(run: RunRecord, step: int, plan: Plan) -> tuple[IntArray, IntArray | None]:
    """Cells `[steps + 1, draws * repeats]` of the agent of a checkpoint, and the draw of each.

    None where draws make no difference. Played once; then read from the run's folder, as long as
    neither the checkpoint nor the rules have changed.
    """
    plan, file = _within_limit(run, plan), _file_of(run, step, plan)
    key = asdict(plan) | key_of(run, step)
    found = read_kept(file, key, "cells")
    if found is None:
        # Importing PyTorch takes longer than the rest of a report.
        from rle.report.measure.play import load_for_pictures, watch

        cells, draw_of = watch(load_for_pictures(run, step), plan.draws, plan.repeats, plan.steps)
        keep(file, key, "cells", cells.astype(np.int16), draws_differ=draw_of is not None)
        return cells, draw_of
    draw_of = np.arange(plan.draws).repeat(plan.repeats)
    return found["cells"].astype(np.int64), draw_of if found["draws_differ"] else None


def _within_limit(run: RunRecord, plan: Plan) -> Plan:
    return Plan(plan.draws, plan.repeats, min(plan.steps, time_limit(run.settings)))


def _file_of(run: RunRecord, step: int, plan: Plan) -> Path:
    plan = _within_limit(run, plan)
    return kept_file(run, step, f"{plan.draws}x{plan.repeats}x{plan.steps}")


def watch_all(asked: Sequence[tuple[RunRecord, int, Plan]]) -> None:
    """Watch on all cores what `watched` will be asked for and is not kept yet.

    What goes wrong here goes wrong again where somebody asks, and is told there.
    """
    missing = [one for one in asked if _plays_alone(one[0]) and not _file_of(*one).exists()]
    if missing:
        # Once, before there are several processes.
        import rle.report.measure.play  # noqa: F401

        each(_watch_quietly, missing)


def _plays_alone(run: RunRecord) -> bool:
    """Whether the agent is watched with one thread: of several, a copied process has only one."""
    return run.settings.get("machine.threads") == 1


def _watch_quietly(asked: tuple[RunRecord, int, Plan]) -> None:
    import torch

    # Whoever copied this process may have used more, and PyTorch would wait for them for ever.
    torch.set_num_threads(1)
    with suppress(Exception):
        watched(*asked)


def reward_maps(run: RunRecord, number: int) -> FloatArray | None:
    """F(s, z) `[number, 51, 51]` of the last agent of a run; None without z. Computed once."""
    step = run.checkpoints[-1]
    key, file = key_of(run, step), kept_file(run, step, f"rewards-{number}")
    found = read_kept(file, key, "rewards")
    if found is not None:
        return found["rewards"].astype(np.float64)
    from rle.report.measure.play import load_for_pictures, reward_values

    values = reward_values(load_for_pictures(run, step), number)
    if values is None:
        return None
    keep(file, key, "rewards", values)
    return values.astype(np.float64)


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
    steps = {(run.name, m): checkpoints_of(run).nearest(m) for run in group.runs for m in moments}
    runs = {run.name: run for run in group.runs}
    there = {at: step for at, step in steps.items() if step is not None}
    watch_all([(runs[name], step, _plan(runs[name])) for (name, _), step in there.items()])
    found = {}
    for (name, moment), step in there.items():
        run = runs[name]
        look = attempt(run, "trajectories", problems, partial(_look, run, step))
        if look is not None:
            found[name, moment] = look
    return Looks(tuple(moments), found)


def _plan(run: RunRecord) -> Plan:
    return Plan(TRAJECTORIES, 1, time_limit(run.settings))


def _look(run: RunRecord, step: int) -> Look:
    cells, _ = watched(run, step, _plan(run))
    return Look(step, cells)
