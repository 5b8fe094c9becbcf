"""Maps of FourRoom: the grid itself, where agents have been, and the random reward of each z."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import matplotlib
import numpy as np

from rle.report.draw.figures import ColourScale, Panel, PanelFigure, PanelGroup, Pixels
from rle.report.measure.watched import reward_maps
from rle.report.read.methods import Method, TaskGroup
from rle.report.read.moments import (
    Moment,
    Problems,
    artefacts_of,
    attempt,
    moment_heading,
    moments_of,
    representative,
    which_seed,
)
from rle.report.read.records import FloatArray, RunRecord
from rle.report.read.settings import television
from rle.report.read.words import (
    GOAL_TASK,
    TELEVISION_TASK,
    file_name,
    marks_text,
    number_text,
    steps_text,
    task_title,
)
from rle.tasks import fourroom_plan

COLUMNS = 5
"""Panels side by side."""
REWARD_MAP = "RdBu_r"
REWARD_MAPS = 10
VISIT_MAP = "viridis"
EARLY = (0.2,)
"""The paper shows visits at 500 k of 2.5 M steps, and at the end."""
THROUGHOUT = (0.2, 0.4, 0.6, 0.8)
"""Beside the end: how visits spread."""


def marks(run: RunRecord) -> tuple[bool, tuple[int, int] | None]:
    """Whether to draw the goal, and the television's corner."""
    corner = television(run.settings) if run.task == TELEVISION_TASK else None
    return run.task == GOAL_TASK, corner


def environment_figure(group: TaskGroup) -> PanelFigure:
    """The empty grid with the marks of its task."""
    goal, television = marks(group.runs[0])
    panel = Panel("51 × 51 cells", goal=goal, television=television)
    return PanelFigure(
        name="environment",
        title=task_title(group.task),
        caption=(
            "Every episode starts at S. The agent moves left, right, up or down; grey walls block "
            "it, and each of the four doors is a single cell. Every other cell of the four rooms can "
            f"be entered: 2504 with the doors. {marks_text(group.task)}"
        ),
        groups=(PanelGroup("", (panel,)),),
        columns=1,
    )


@dataclass(frozen=True, eq=False)
class VisitMap:
    """How often a run entered each cell, up to a step."""

    title: str
    detail: str
    run: RunRecord
    step: int | None
    counts: FloatArray | None
    """`[51, 51]`; None if this was not recorded."""


Row = tuple[str, Sequence[VisitMap], bool]
"""A heading, the maps below it, and whether each of them says after how many steps it was."""


def _visit_map(
    title: str, detail: str, run: RunRecord, moment: Moment, problems: Problems
) -> VisitMap:
    step = artefacts_of(run).nearest(moment)
    loaded = None
    if step is not None:
        load = partial(run.directory.artefact_arrays, step)
        loaded = attempt(run, "visitation map", problems, load)
    if not loaded or "visits" not in loaded:
        return VisitMap(title, detail, run, None, None)
    return VisitMap(title, detail, run, step, loaded["visits"].astype(np.float64))


def visit_figure(group: TaskGroup, problems: Problems) -> PanelFigure | None:
    """Visits of every method side by side, early and at the end."""
    runs = [(method, representative(method)) for method in group.methods]
    named = [(method.label, f"{which_seed(method, run)}: ", run) for method, run in runs]
    rows: list[Row] = []
    for moment in moments_of([artefacts_of(run) for _, run in runs], EARLY):
        maps = [_visit_map(*one, moment, problems) for one in named]
        when, differ = moment_heading(moment, [shown.step for shown in maps])
        rows.append((when, maps, differ))
    choice = (
        " Of each method the finished run whose coverage is the median of its seeds (the lower one "
        "if their number is even)."
    )
    several = any(len(method.runs) > 1 for method in group.methods)
    caption = (
        "Visits to each cell since training began, on one logarithmic colour scale. "
        f"{marks_text(group.task)} Dark grey: walls; light grey: never visited."
        f"{choice if several else ''}"
    )
    return _visits_figure(rows, "visitation", "Where the agents have been", caption)


def throughout_figure(group: TaskGroup, problems: Problems) -> PanelFigure | None:
    """Visits of every method at five moments: whether it goes on exploring."""
    runs = [(method, representative(method)) for method in group.methods]
    moments = moments_of([artefacts_of(run) for _, run in runs], THROUGHOUT)
    if len(moments) <= len(EARLY) + 1:
        return None
    rows: list[Row] = []
    for method, run in runs:
        maps = [_visit_map("", "", run, moment, problems) for moment in moments]
        dated = [
            shown
            if shown.step is None
            else replace(shown, title=f"after {steps_text(shown.step)} steps")
            for shown in maps
        ]
        rows.append((f"{method.label}, {which_seed(method, run)}", dated, False))
    title = "Where the agents have been, throughout training"
    caption = (
        "Visits to each cell from the beginning of training up to each moment, on one logarithmic "
        f"colour scale. {marks_text(group.task)}"
    )
    return _visits_figure(rows, "visitation-throughout", title, caption, folded=True)


def every_seed_figure(group: TaskGroup, problems: Problems) -> PanelFigure | None:
    """The last visitation map of every run: how much seeds differ."""
    if all(len(method.runs) == 1 for method in group.methods):
        return None
    rows: list[Row] = []
    for method in group.methods:
        maps = [_visit_map(f"seed {run.seed}", "", run, None, problems) for run in method.runs]
        rows.append((method.label, maps, True))
    title = "Where the agents have been, every seed"
    caption = (
        "The last recorded visits of every run, on one logarithmic colour scale. "
        f"{marks_text(group.task)}"
    )
    return _visits_figure(rows, "visitation-every-seed", title, caption, folded=True)


def _visits_figure(
    rows: Sequence[Row], name: str, title: str, caption: str, folded: bool = False
) -> PanelFigure | None:
    """Maps on one scale of colours; None if nothing was recorded."""
    counts = [shown.counts for _, maps, _ in rows for shown in maps if shown.counts is not None]
    highest = max((float(one.max()) for one in counts), default=0.0)
    if not highest:
        return None
    return PanelFigure(
        name=name,
        title=title,
        caption=caption,
        groups=tuple(
            PanelGroup(heading, tuple(_visit_panel(shown, highest, say_step) for shown in maps))
            for heading, maps, say_step in rows
        ),
        columns=min(COLUMNS, max(len(maps) for _, maps, _ in rows)),
        scale=_visit_scale(highest),
        folded=folded,
    )


def _visit_panel(shown: VisitMap, highest: float, say_step: bool) -> Panel:
    goal, television = marks(shown.run)
    if shown.counts is None or shown.step is None:
        return Panel(
            shown.title, shown.detail, goal=goal, television=television, missing="not recorded"
        )
    visited = shown.counts[fourroom_plan.free_cells()] > 0
    when = f", {steps_text(shown.step)} steps" if say_step else ""
    return Panel(
        shown.title,
        f"{shown.detail}{number_text(100 * float(visited.mean()), 0)} % of cells{when}",
        visit_pixels(shown.counts, highest),
        goal=goal,
        television=television,
    )


def visit_pixels(counts: FloatArray, highest: float) -> Pixels:
    """Colours of visit counts on a log scale from 1 to `highest`; never visited is transparent."""
    with np.errstate(divide="ignore"):
        position = np.log(counts) / math.log(max(highest, math.e))
    pixels: Pixels = matplotlib.colormaps[VISIT_MAP](np.clip(position, 0, 1), bytes=True)
    pixels[counts == 0] = 0
    return pixels


def _visit_scale(highest: float) -> ColourScale:
    top = math.log10(max(highest, math.e))
    ticks = tuple((power / top, steps_text(10**power)) for power in range(int(top) + 1))
    return ColourScale("visits to a cell (log scale)", VISIT_MAP, ticks)


def reward_figure(method: Method, folded: bool, problems: Problems) -> PanelFigure | None:
    """F(s, z) of ten z over all cells, of a method whose bonus is such a function."""
    run = representative(method)
    if "rle" not in method.explore.split("+") or not run.checkpoints:
        return None
    values = attempt(run, "reward maps", problems, lambda: reward_maps(run, REWARD_MAPS))
    if values is None:
        return None
    highest = float(np.abs(values[:, fourroom_plan.free_cells()]).max())
    goal, television = marks(run)
    panels = tuple(
        Panel(
            f"z {number}", pixels=reward_pixels(reward, highest), goal=goal, television=television
        )
        for number, reward in enumerate(values, start=1)
    )
    label = number_text(highest, 2)
    scale = ColourScale(
        "F(s, z)", REWARD_MAP, ((0.0, number_text(-highest, 2)), (0.5, "0"), (1.0, label))
    )
    step = run.checkpoints[-1]
    return PanelFigure(
        name=f"reward-maps-{file_name(method.label)}" if folded else "reward-maps",
        title=f"Random rewards of {REWARD_MAPS} latents ({method.label})",
        caption=(
            f"F(s, z), the bonus for entering each cell, under {REWARD_MAPS} random z: "
            f"{method.label}, {which_seed(method, run)}, after {steps_text(step)} steps. Red cells "
            f"attract, blue ones repel, white ones do neither. {marks_text(run.task)}"
        ),
        groups=(PanelGroup("", panels),),
        columns=COLUMNS,
        scale=scale,
        folded=folded,
    )


def reward_pixels(values: FloatArray, highest: float) -> Pixels:
    """Diverging colours of F with 0 in the middle; walls are transparent."""
    position = 0.5 + 0.5 * values / max(highest, 1e-12)
    pixels: Pixels = matplotlib.colormaps[REWARD_MAP](np.clip(position, 0, 1), bytes=True)
    pixels[~fourroom_plan.free_cells()] = 0
    return pixels
