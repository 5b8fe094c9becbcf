"""Estimates with their intervals, and bars, as files."""

from __future__ import annotations

import math
from typing import Any

from matplotlib.figure import Figure as Canvas

from rle.report.figures import BAR_LINEAR_WIDTH, BAR_TICKS, BarFigure, EstimateFigure
from rle.report.style import number_text

# In inches: a row of estimates, a bar, and what is above and below all of them.
_ROW, _BAR, _FRAME = 0.32, 0.075, 1.0
_BAR_WIDTH = 0.8
"""Part of a task's row that its bars fill."""
_REFERENCE: dict[str, Any] = {
    "color": "#777777",
    "linewidth": 0.9,
    "linestyle": (0, (3, 2)),
    "zorder": 0,
}


def draw_estimates(figure: EstimateFigure) -> Canvas:
    """A dot and a line for every row, the first on top."""
    canvas = Canvas(figsize=(5.6, _FRAME + _ROW * len(figure.rows)), layout="constrained")
    axes = canvas.add_subplot()
    for place, row in enumerate(figure.rows):
        low, high = row.interval.limits
        axes.plot([low, high], [place, place], color=row.colour, linewidth=2.4, alpha=0.55)
        axes.plot([row.interval.point], [place], "o", color=row.colour, markersize=6)
    if figure.reference is not None:
        axes.axvline(figure.reference[0], **_REFERENCE)
    axes.set_yticks(range(len(figure.rows)), [row.label for row in figure.rows])
    axes.set_ylim(len(figure.rows) - 0.5, -0.5)
    axes.set_xlim(*figure.limits)
    axes.set_xlabel(figure.x_label)
    axes.set_title(figure.title, fontsize=10)
    axes.grid(axis="x", color="#DDDDDD", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    return canvas


def draw_bars(figure: BarFigure) -> Canvas:
    """A row of bars for every task, the first on top."""
    per_task = len(figure.methods) * _BAR / _BAR_WIDTH
    longest = max(len(method.label) for method in figure.methods)
    columns = next(number for number in (4, 2, 1) if number * (longest + 8) < 80 or number == 1)
    legend = 0.2 * math.ceil(len(figure.methods) / columns)
    height = _FRAME + legend + per_task * len(figure.groups)
    canvas = Canvas(figsize=(6.4, height), layout="constrained")
    axes = canvas.add_subplot()
    thickness = _BAR_WIDTH / len(figure.methods)
    for number, method in enumerate(figure.methods):
        places = [
            place - _BAR_WIDTH / 2 + (number + 0.5) * thickness
            for place in range(len(figure.groups))
        ]
        values = [group.values[number] or 0.0 for group in figure.groups]
        alpha = 0.5 if method.faint else 1.0
        axes.barh(
            places, values, 0.9 * thickness, color=method.colour, alpha=alpha, label=method.label
        )
    axes.set_xscale("asinh", linear_width=BAR_LINEAR_WIDTH)
    low, high = figure.range
    ticks = [tick for tick in BAR_TICKS if low <= tick <= high]
    axes.set_xticks(ticks, [number_text(tick, 1 if 0 < tick < 1 else 0) for tick in ticks])
    axes.set_xticks([], minor=True)
    axes.set_xlim(1.05 * low, 1.15 * high)
    axes.axvline(figure.reference[0], **_REFERENCE)
    axes.set_yticks(
        range(len(figure.groups)), [group.title for group in figure.groups], fontsize=7.5
    )
    axes.set_ylim(len(figure.groups) - 0.5, -0.5)
    axes.set_xlabel(f"{figure.x_label}; dashed: {figure.reference[1]}")
    axes.set_title(figure.title, fontsize=10)
    axes.grid(axis="x", color="#DDDDDD", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    canvas.legend(loc="outside lower center", ncols=columns, frameon=False, fontsize=8)
    return canvas
