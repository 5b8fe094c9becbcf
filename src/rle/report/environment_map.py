"""FourRoom itself, as the paper's first picture of it: walls, doors, start."""

from __future__ import annotations

from rle.report.figures import Panel, PanelFigure, PanelGroup
from rle.report.methods import TaskGroup
from rle.report.pictures import marks, marks_text
from rle.report.wording import task_title


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
            f"be entered: 2504 with the doors. S: start{marks_text(group.task)}."
        ),
        groups=(PanelGroup("", (panel,)),),
        columns=1,
    )
