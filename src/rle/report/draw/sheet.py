"""A sheet to draw on, measured in inches from its top left corner.

Every place is computed here: Matplotlib's own layouts take longer than the drawing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas

from rle.report.draw.style import PAPER, QUIET, RULE, TEXT

RESOLUTION = 160
"""Dots per inch of PNG files."""
TITLE = 0.34
"""Inches at the top of every figure that hold its title, and nothing else: the page, which has
headings, leaves them out."""
WIDTH = 5.0
"""Of a figure with one chart. Its letters, of 9 points, are as large on a telephone as on paper."""
_LEGEND_LINE, _LEGEND_LETTER, _LEGEND_HANDLE = 0.165, 0.075, 0.65

SETTINGS: dict[Any, Any] = {
    "font.family": ["DejaVu Sans"],
    "font.size": 9.0,
    "text.color": TEXT,
    "axes.labelcolor": TEXT,
    "axes.labelsize": 9.0,
    "axes.labelpad": 2.0,
    "axes.edgecolor": QUIET,
    "axes.linewidth": 0.6,
    "axes.facecolor": "none",
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "grid.color": RULE,
    "grid.linewidth": 0.6,
    "xtick.color": QUIET,
    "ytick.color": QUIET,
    "xtick.labelcolor": QUIET,
    "ytick.labelcolor": QUIET,
    "xtick.major.size": 2.5,
    "ytick.major.size": 0.0,
    "xtick.major.width": 0.6,
    "legend.frameon": False,
    "legend.fontsize": 9.0,
    "lines.solid_joinstyle": "round",
    "svg.fonttype": "none",  # text stays text: small, and in the letters of the page
    "image.composite_image": False,  # maps are stored cell by cell, not as large pictures
}


def new_sheet(width: float, height: float, title: str) -> Canvas:
    """An empty figure with its title."""
    canvas = Canvas(figsize=(width, height), dpi=RESOLUTION, facecolor=PAPER)
    canvas.text(0.5, 1 - 0.6 * TITLE / height, title, ha="center", va="center", fontsize=10.5)
    return canvas


def add_axes(canvas: Canvas, left: float, top: float, width: float, height: float) -> Axes:
    """Axes whose top left corner lies at `left` and `top`."""
    whole_width, whole_height = canvas.get_size_inches()
    bottom = whole_height - top - height
    return canvas.add_axes(
        (left / whole_width, bottom / whole_height, width / whole_width, height / whole_height)
    )


def legend_shape(labels: Sequence[str], width: float) -> tuple[int, float]:
    """Columns and height of a legend that fits into `width`."""
    entry = _LEGEND_HANDLE + _LEGEND_LETTER * max(map(len, labels))
    columns = min(len(labels), max(1, int(width / entry)))
    return columns, _LEGEND_LINE * math.ceil(len(labels) / columns) + 0.1


def add_legend(canvas: Canvas, columns: int, **options: Any) -> None:
    """A legend at the bottom."""
    canvas.legend(
        loc="lower center",
        ncols=columns,
        handlelength=2.6,
        columnspacing=1.2,
        labelspacing=0.3,
        borderpad=0.3,
        **options,
    )
