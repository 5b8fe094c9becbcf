"""Trajectories over the grid, one colour each: where each z leads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import matplotlib
import numpy as np
from matplotlib.colors import to_hex

from rle.report.draw.figures import Panel, PanelFigure, PanelGroup, Path
from rle.report.draw.maps import COLUMNS, marks
from rle.report.draw.style import BLUE, GREEN, ORANGE, PURPLE, VERMILLION
from rle.report.measure.plan import TRAJECTORIES
from rle.report.measure.reach import distinct_cells, rooms_reached
from rle.report.measure.watched import Look, Looks
from rle.report.read.methods import Method, TaskGroup
from rle.report.read.moments import Moment, moment_heading, representative, which_seed
from rle.report.read.records import RunRecord
from rle.report.read.words import file_name, marks_text, number_text, plural, steps_text
from rle.tasks import fourroom_plan

MIDDLE = 0.6
"""Where the paper looks at many z: 1.5 M of 2.5 M steps."""
FEW_STEPS = 256
"""Of the trajectories in figures with few of them."""
FEW_COLOURS = (BLUE, ORANGE, GREEN, PURPLE, VERMILLION)
FEW = len(FEW_COLOURS)
MANY_COLOURS = tuple(to_hex(matplotlib.colormaps["tab20"](n)) for n in range(TRAJECTORIES))
SPREAD = 0.56
"""Of a cell: how far the first and the last line of a picture are moved apart."""


def trajectory_figure(group: TaskGroup, looks: Looks) -> PanelFigure | None:
    """Five trajectories of every method at each moment."""
    if not looks.found:
        return None
    runs = [(method, representative(method)) for method in group.methods]
    rows = [[_few_panel(run, moment, looks) for moment in looks.moments] for _, run in runs]
    named = [(method.label, which_seed(method, run)) for method, run in runs]
    if len(looks.moments) == 1:
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
        columns = len(looks.moments)
    return PanelFigure(
        name="trajectories",
        title="Where each z leads",
        caption=(
            f"{FEW} trajectories of {FEW_STEPS} steps from the start, one colour each, with sampled "
            "actions; a dot marks where each ends. For RLE every trajectory follows its own z all "
            f"the way, the same {FEW} z at every checkpoint; for NoisyNet its own sample of weight "
            f"noise; for the others they differ by action noise only. {_shift_text(group.task)}"
        ),
        groups=tuple(groups),
        columns=columns,
    )


def middle_figure(group: TaskGroup, looks: Looks) -> PanelFigure | None:
    """All trajectories of every method in the middle of training: the paper's third figure."""
    if not looks.found:
        return None
    moment = MIDDLE if MIDDLE in looks.moments else looks.moments[-1]
    panels = []
    for method in group.methods:
        run = representative(method)
        look = looks.of(run, moment)
        panel = _panel(run, look, MANY_COLOURS, None)
        if look is not None:
            panel = replace(panel, detail=f"{which_seed(method, run)}: {reach_text(look)}")
        panels.append(replace(panel, title=method.label))
    steps = [look.step for (_, when), look in looks.found.items() if when == moment]
    return PanelFigure(
        name="trajectories-middle",
        title=f"{TRAJECTORIES} trajectories"
        + (" in the middle of training" if moment == MIDDLE else ""),
        caption=(
            f"{moment_heading(moment, steps)[0]}: {TRAJECTORIES} trajectories, each as long as an "
            "episode may be and in its own colour, with sampled actions; a dot marks where each "
            "ends. For RLE every trajectory follows its own z all the way, for NoisyNet its own "
            "sample of weight noise. With each picture: how many rooms they reach together and how "
            f"many cells they enter. {_shift_text(group.task)}"
        ),
        groups=(PanelGroup("", tuple(panels)),),
        columns=min(COLUMNS, len(panels)),
    )


def every_seed_figures(group: TaskGroup, looks: Looks) -> list[PanelFigure]:
    """For each method the trajectories of every seed at each moment: the paper's appendix."""
    figures = (_every_seed_figure(method, looks) for method in group.methods)
    return [figure for figure in figures if figure is not None]


def _every_seed_figure(method: Method, looks: Looks) -> PanelFigure | None:
    groups = []
    for moment in looks.moments:
        seen = [looks.of(run, moment) for run in method.runs]
        when, differ = moment_heading(
            moment, [None if look is None else look.step for look in seen]
        )
        panels = []
        for run in method.runs:
            panel = _few_panel(run, moment, looks)
            detail = panel.title if differ else ""
            panels.append(replace(panel, title=f"seed {run.seed}", detail=detail))
        groups.append(PanelGroup(when, tuple(panels)))
    if not any(panel.paths for group in groups for panel in group.panels):
        return None
    return PanelFigure(
        name=f"trajectories-{file_name(method.label)}",
        title=f"Trajectories of every seed: {method.label}",
        caption=(
            f"{FEW} trajectories of {FEW_STEPS} steps from the start of every seed of "
            f"{method.label}, one colour each, with sampled actions; a dot marks where each ends. "
            f"{_difference_text(method)} {_shift_text(method.runs[0].task)}"
        ),
        groups=tuple(groups),
        columns=min(COLUMNS, len(method.runs)),
        folded=True,
    )


def _difference_text(method: Method) -> str:
    """What makes the trajectories of one agent differ."""
    parts = method.explore.split("+")
    if "rle" in parts:
        return "Every trajectory follows its own z all the way: a colour is the same z everywhere."
    if "noisy" in parts:
        return "Every trajectory has its own sample of weight noise."
    return "They differ by action noise only."


def _shift_text(task: str) -> str:
    return (
        "Lines are shifted by a fraction of a cell so that they do not hide each other. "
        f"{marks_text(task)}"
    )


def reach_text(look: Look) -> str:
    """What the trajectories of a look reach, in a few words."""
    cells = number_text(distinct_cells(look.cells), 0)
    return f"{plural(rooms_reached(look.cells), 'room')}, {cells} cells"


def _few_panel(run: RunRecord, moment: Moment, looks: Looks) -> Panel:
    return _panel(run, looks.of(run, moment), FEW_COLOURS, FEW_STEPS)


def _panel(run: RunRecord, look: Look | None, colours: Sequence[str], steps: int | None) -> Panel:
    """The first trajectories of a look, one for each colour, up to `steps` (all for None)."""
    goal, television = marks(run)
    if look is None:
        return Panel("", goal=goal, television=television, missing="no checkpoint")
    cells = look.cells if steps is None else look.cells[: steps + 1]
    shifts = np.linspace(-SPREAD / 2, SPREAD / 2, len(colours))
    paths = []
    for number, (colour, shift) in enumerate(zip(colours, shifts, strict=True)):
        rows, columns = np.divmod(cells[:, number], fourroom_plan.SIZE)
        paths.append(Path(rows + shift, columns + shift, colour))
    when = f"after {steps_text(look.step)} steps"
    return Panel(when, paths=tuple(paths), goal=goal, television=television)
