"""Curves as files: one figure, or a grid of small ones."""

from __future__ import annotations

import math
from typing import Any

from matplotlib.figure import Figure as Canvas
from matplotlib.ticker import FuncFormatter, MaxNLocator

from rle.report.figures import CurveFigure, GridFigure
from rle.report.style import LineStyle, steps_text

GRID_COLUMNS = 5
# In inches: width and height of a small figure, and of what stands above and below them all.
_SMALL, _TITLE, _LEGEND = (2.0, 1.5), 0.45, 0.5


def draw_curves(figure: CurveFigure) -> Canvas:
    """Curves with bands and a legend below."""
    canvas = Canvas(figsize=(5.6, 3.7), layout="constrained")
    axes = canvas.add_subplot()
    _fill(axes, figure, linewidth=1.8)
    if figure.ceiling is not None:
        value, name = figure.ceiling
        axes.axhline(value, color="#777777", linewidth=0.8, linestyle=(0, (2, 2)))
        axes.annotate(
            name, (0, value), (4, -2), textcoords="offset points", va="top", color="#555555", size=8
        )
    axes.set_xlabel(figure.x_label)
    axes.set_ylabel(figure.y_label)
    axes.set_title(figure.title, fontsize=10)
    columns = 1 if len(figure.series) < 4 else 2 if len(figure.series) < 9 else 3
    canvas.legend(loc="outside lower center", ncols=columns, frameon=False, fontsize=8)
    return canvas


def draw_grid(figure: GridFigure) -> Canvas:
    """Small figures side by side, with one legend.

    Their places are computed here: matplotlib's own layout takes minutes for 57 of them.
    """
    columns = min(GRID_COLUMNS, len(figure.panels))
    rows = math.ceil(len(figure.panels) / columns)
    width, height = columns * _SMALL[0], rows * _SMALL[1] + _TITLE + _LEGEND
    canvas = Canvas(figsize=(width, height))
    for number, panel in enumerate(figure.panels):
        row, column = divmod(number, columns)
        left = column * _SMALL[0] + 0.46
        bottom = height - _TITLE - (row + 1) * _SMALL[1] + 0.36
        place = (
            left / width,
            bottom / height,
            (_SMALL[0] - 0.6) / width,
            (_SMALL[1] - 0.62) / height,
        )
        axes = canvas.add_axes(place)
        _fill(axes, panel, linewidth=1.1)
        axes.set_title(panel.title, fontsize=8, pad=3)
        axes.tick_params(labelsize=6, length=2, pad=1.5)
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_locator(MaxNLocator(4))
    canvas.suptitle(figure.title, fontsize=11, y=1 - 0.16 / height, va="center")
    handles = [
        axes.plot([], [], label=label, linewidth=1.8, **_line(style))[0]
        for label, style in figure.legend
    ]
    canvas.legend(
        handles=handles, loc="lower center", ncols=min(6, len(handles)), frameon=False, fontsize=8
    )
    return canvas


def _fill(axes: Any, figure: CurveFigure, linewidth: float) -> None:
    for series in figure.series:
        style = _line(series.style)
        axes.plot(series.steps, series.values, label=series.label, linewidth=linewidth, **style)
        if figure.bands and series.low is not None and series.high is not None:
            axes.fill_between(
                series.steps,
                series.low,
                series.high,
                color=series.style.colour,
                alpha=0.18,
                linewidth=0,
            )
    low, high = figure.limits
    # A curve along the edge of the scale must not be cut in half.
    edge = 0.015 * (high - low)
    axes.set_ylim(low - edge, high + edge)
    axes.set_xlim(0, max(series.steps[-1] for series in figure.series))
    if figure.x_digits is None:
        axes.xaxis.set_major_formatter(FuncFormatter(lambda steps, _: steps_text(steps)))
    if high >= 10_000:
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: steps_text(value)))
    axes.grid(color="#DDDDDD", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def _line(style: LineStyle) -> dict[str, Any]:
    return {
        "color": style.colour,
        "linestyle": (0, style.dashes) if style.dashes else "solid",
    }
