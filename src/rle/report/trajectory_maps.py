"""Trajectories over the grid, one colour each: where each z leads."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from rle.report.figures import Panel, PanelFigure, PanelGroup, Path
from rle.report.methods import TaskGroup
from rle.report.pictures import (
    COLUMNS,
    Problems,
    attempt,
    columns_of,
    marks,
    marks_text,
    nearest_step,
    representative,
    which_seed,
)
from rle.report.records import RunRecord
from rle.report.style import BLUE, GREEN, ORANGE, PURPLE, VERMILLION, steps_text
from rle.report.trajectories import load_for_pictures, watch
from rle.tasks import fourroom

CHECKPOINTS = (500_000, 1_500_000, 2_500_000)
"""Where the paper looks at its agents, in steps."""
TRAJECTORIES = 5
TRAJECTORY_STEPS = 256
TRAJECTORY_COLOURS = (BLUE, ORANGE, GREEN, PURPLE, VERMILLION)


def trajectory_figure(group: TaskGroup, problems: Problems) -> PanelFigure | None:
    """Five trajectories of every method at the paper's checkpoints."""
    runs = [(method, representative(method)) for method in group.methods]
    moments = columns_of([run.directory.checkpoint_steps() for _, run in runs], CHECKPOINTS)
    rows = [[_panel(run, moment, problems) for moment in moments] for _, run in runs]
    if not any(panel.paths for row in rows for panel in row):
        return None
    named = [(method.label, which_seed(method, run)) for method, run in runs]
    if len(moments) == 1:
        # With one moment to see, methods stand side by side.
        panels = tuple(
            replace(panel, title=label, detail=", ".join(filter(None, [seed, panel.title])))
            for (label, seed), [panel] in zip(named, rows, strict=True)
        )
        groups, columns = [PanelGroup("", panels)], min(COLUMNS, len(panels))
    else:
        groups = [
            PanelGroup(f"{label}, {seed}", tuple(row))
            for (label, seed), row in zip(named, rows, strict=True)
        ]
        columns = len(moments)
    return PanelFigure(
        name="trajectories",
        title="Where each z leads",
        caption=(
            f"{TRAJECTORIES} trajectories of {TRAJECTORY_STEPS} steps from the start, one colour "
            "each, with sampled actions; a dot marks where each ends. For RLE every trajectory "
            f"follows its own z all the way, the same {TRAJECTORIES} z at every checkpoint; for "
            "NoisyNet its own sample of weight noise; for the others they differ by action noise "
            "only. Lines are shifted by a fraction of a cell so that they do not hide each other. "
            f"S: start{marks_text(group.task)}."
        ),
        groups=tuple(groups),
        columns=columns,
    )


def _paths(run: RunRecord, step: int) -> tuple[Path, ...]:
    agent = load_for_pictures(run, step)
    cells, _ = watch(agent, TRAJECTORIES, 1, TRAJECTORY_STEPS)
    paths = []
    for number, colour in enumerate(TRAJECTORY_COLOURS):
        shift = (number - (TRAJECTORIES - 1) / 2) * 0.14
        rows, columns = np.divmod(cells[:, number], fourroom.SIZE)
        paths.append(Path(rows + shift, columns + shift, colour))
    return tuple(paths)


def _panel(run: RunRecord, moment: int | None, problems: Problems) -> Panel:
    goal, television = marks(run)
    step = nearest_step(run.directory.checkpoint_steps(), moment)
    paths = None
    if step is not None:
        paths = attempt(run, "trajectories", problems, partial(_paths, run, step))
    if step is None or paths is None:
        return Panel("", goal=goal, television=television, missing="no checkpoint")
    return Panel(f"after {steps_text(step)} steps", paths=paths, goal=goal, television=television)
