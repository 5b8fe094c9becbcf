"""How figures look: colours, letters, and sheets to draw on.

Places on a sheet are inches from its top left corner, computed here: Matplotlib's own layouts take
longer than the drawing.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas

ORANGE = "#E69F00"
SKY_BLUE = "#56B4E9"
GREEN = "#009E73"
BLUE = "#0072B2"
VERMILLION = "#D55E00"
PURPLE = "#CC79A7"
GREY = "#8A8A8A"
"""Okabe and Ito's palette, which people with any colour vision tell apart. Its yellow and black are
left out: one cannot be seen on white paper, the other not on a dark screen."""

LINES = (BLUE, VERMILLION, GREEN, PURPLE, ORANGE, SKY_BLUE, GREY)
DASHES: tuple[tuple[float, ...], ...] = ((), (6, 3), (2, 2), (8, 2, 2, 2))
"""Once the colours are used up, the next methods are told apart by their dashes."""

_OWN_COLOUR = {
    "RLE": VERMILLION,
    "PPO": BLUE,
    "RND": GREEN,
    "NoisyNet": PURPLE,
    "White noise": ORANGE,
}

PAPER, TEXT, QUIET, RULE = "#fffffe", "#1c1e21", "#5a6068", "#d9dce1"
FLOOR, WALL = "#fefefe", "#4a4a4f"
"""Of panels with lines."""
THEMED = {
    PAPER: "var(--page)",
    TEXT: "var(--text)",
    QUIET: "var(--quiet)",
    RULE: "var(--line)",
    FLOOR: "var(--panel-floor)",
    WALL: "var(--panel-wall)",
}
"""What the page puts in the place of these colours, so that figures follow light and dark. All others
mean something and are the same on both; none of these may stand for anything else."""
UNVISITED, HEAT_WALL = "#e9e9ec", "#4a4a4e"
"""Of panels with heat maps, whose colours mean the same on a light and on a dark screen."""
MARK, HALO = "#d00000", "#ffffff"
"""The red of the paper's S and *, and what it is set apart by."""


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


@dataclass(frozen=True)
class LineStyle:
    """What a method's curve looks like, on every figure of a report."""

    colour: str
    dashes: tuple[float, ...] = ()


def assign_styles(labels: Iterable[str]) -> dict[str, LineStyle]:
    """A style for each method, by its label; the best-known ones always have the same colour."""
    labels = list(dict.fromkeys(labels))
    styles = {label: LineStyle(_OWN_COLOUR[label]) for label in labels if label in _OWN_COLOUR}
    taken = set(styles.values())
    free = (
        style
        for dashes in DASHES
        for style in (LineStyle(colour, dashes) for colour in LINES)
        if style not in taken
    )
    for label in labels:
        if label not in styles:
            styles[label] = next(free, LineStyle(GREY, (1, 2)))
    return {label: styles[label] for label in labels}


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
