"""Agents watched at three moments of training, each once: what they did is kept beside the run."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError
from torch import Tensor

from rle.errors import UsageError
from rle.report.measure.play import SEED, IntArray, load_for_pictures, watch
from rle.report.read.methods import TaskGroup
from rle.report.read.moments import MOMENTS, Moment, Problems, attempt, checkpoints_of, moments_of
from rle.report.read.records import RunRecord
from rle.report.read.settings import time_limit
from rle.runs.files import digest_of, digest_of_file, require_no_link
from rle.runs.state import load_state, save_state

TRAJECTORIES = 20
"""Trajectories an agent is watched for, each under its own z and as long as an episode may be."""
FOLDER = "trajectories"
RULES = 1
"""Counts the ways in which agents have been watched: what was kept of an earlier one is not used."""


@dataclass(frozen=True)
class Plan:
    """How an agent is watched."""

    draws: int
    """Different z, or samples of weight noise."""
    repeats: int
    """Trajectories of each."""
    steps: int


def watched(run: RunRecord, step: int, plan: Plan) -> tuple[IntArray, IntArray | None]:
    """Cells `[steps + 1, draws * repeats]` of the agent of a checkpoint, and the draw of each.

    None where draws make no difference. Played once; then read from the run's folder, as long as
    neither the checkpoint nor the rules have changed.
    """
    plan = Plan(plan.draws, plan.repeats, min(plan.steps, time_limit(run.settings)))
    checkpoint = digest_of_file(run.directory.checkpoint_path(step))
    key = asdict(plan) | {"seed": SEED, "rules": RULES, "checkpoint": checkpoint}
    name = f"{step:012d}-{plan.draws}x{plan.repeats}x{plan.steps}.safetensors"
    kept = run.directory.path / FOLDER / name
    found = _read(kept, key)
    if found is None:
        agent = load_for_pictures(run, step)
        cells, draw_of = watch(agent, plan.draws, plan.repeats, plan.steps)
        found = cells, draw_of is not None
        _keep(kept, key, *found)
    draw_of = np.arange(plan.draws).repeat(plan.repeats)
    return found[0], draw_of if found[1] else None


def _read(file: Path, key: dict[str, Any]) -> tuple[IntArray, bool] | None:
    """The cells that were kept, and whether draws differ; None if they are not what `key` says."""
    if not file.exists():
        return None
    try:
        state = load_state(file)
        if state["key"] != key or state["sha256"] != _digest(state["cells"]):
            return None
        cells: IntArray = state["cells"].long().numpy()
        return cells, bool(state["draws_differ"])
    except (UsageError, KeyError, TypeError, AttributeError):
        return None


def _keep(file: Path, key: dict[str, Any], cells: IntArray, draws_differ: bool) -> None:
    """Nobody is told if this fails: a run in a folder that cannot be written to is shown as well."""
    kept = torch.from_numpy(cells).short()
    state = {"key": key, "cells": kept, "sha256": _digest(kept), "draws_differ": draws_differ}
    try:
        require_no_link(file.parent)
        file.parent.mkdir(exist_ok=True)
        save_state(file, state)
    except (OSError, SafetensorError, UsageError):
        return


def _digest(cells: Tensor) -> str:
    return digest_of(cells.numpy().tobytes())


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
    cells, _ = watched(run, step, Plan(TRAJECTORIES, 1, time_limit(run.settings)))
    return Look(step, cells)
