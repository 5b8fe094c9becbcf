"""Curves, estimates and bars, drawn on axes."""

from __future__ import annotations

import math
from typing import Any

from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure as Canvas
from matplotlib.ticker import FuncFormatter, MaxNLocator

from rle.report.draw.figures import BarFigure, CurveFigure, EstimateFigure, GridFigure
from rle.report.draw.style import (
    PAPER,
    QUIET,
    TITLE,
    WIDTH,
    LineStyle,
    add_axes,
    add_legend,
    legend_shape,
    new_sheet,
)
from rle.report.read.words import interval_text, number_text, steps_text

GRID_COLUMNS = 4
# In inches: what is left and right of axes, the axes of a curve figure, the line above them that
# says what they show, and the numbers and words below them.
_LEFT, _RIGHT, _HEIGHT, _HEAD, _FOOT = 0.55, 0.2, 2.2, 0.26, 0.46
# A small figure among many: its width, its axes' height, its title and its numbers.
_SMALL, _SMALL_HEIGHT, _SMALL_HEAD, _SMALL_FOOT = 2.3, 1.05, 0.26, 0.3
_ESTIMATE = 0.46
"""Height of an estimate: a line of words above its interval."""
_BAR, _BAR_NAMES = 0.085, 1.4
"""Height of a bar, and width of the names of tasks."""
_BAR_SHARE = 0.8
"""Part of a task's row that its bars fill."""
BAR_LINEAR_WIDTH = 0.2
"""Bars are drawn at asinh(value / this): linear below, logarithmic above."""
BAR_TICKS = (-10.0, -1.0, 0.0, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0)
_DASHED: dict[str, Any] = {"color": QUIET, "linewidth": 0.9, "linestyle": (0, (3, 2)), "zorder": 1}

Charts = list[tuple[Axes, CurveFigure]]
"""Which axes show what."""


def draw_curves(figure: CurveFigure) -> tuple[Canvas, Charts]:
    """Curves with bands, and a legend below."""
    columns, legend = legend_shape([series.label for series in figure.series], WIDTH)
    canvas = new_sheet(WIDTH, TITLE + _HEAD + _HEIGHT + _FOOT + legend, figure.title)
    axes = add_axes(canvas, _LEFT, TITLE + _HEAD, WIDTH - _LEFT - _RIGHT, _HEIGHT)
    _fill(axes, figure, 1.8, 5)
    if figure.ceiling is not None:
        value, name = figure.ceiling
        axes.axhline(value, **_DASHED)
        axes.annotate(
            name,
            (1, value),
            (-3, -2),
            xycoords=axes.get_yaxis_transform(),
            textcoords="offset points",
            ha="right",
            va="top",
            color=QUIET,
        )
    axes.set_xlabel(figure.x_label)
    _say_above(axes, figure.y_label, 9.0)
    add_legend(canvas, columns)
    return canvas, [(axes, figure)]


def draw_grid(figure: GridFigure) -> tuple[Canvas, Charts]:
    """Small figures side by side, with one legend."""
    columns = min(GRID_COLUMNS, len(figure.panels))
    rows = math.ceil(len(figure.panels) / columns)
    width = max(columns * _SMALL, WIDTH)
    row_height = _SMALL_HEAD + _SMALL_HEIGHT + _SMALL_FOOT
    legend_columns, legend = legend_shape([label for label, _ in figure.legend], width)
    canvas = new_sheet(width, TITLE + rows * row_height + legend, figure.title)
    charts: Charts = []
    for number, panel in enumerate(figure.panels):
        row, column = divmod(number, columns)
        left, top = column * _SMALL + 0.48, TITLE + row * row_height + _SMALL_HEAD
        axes = add_axes(canvas, left, top, _SMALL - 0.63, _SMALL_HEIGHT)
        _fill(axes, panel, 1.2, 3)
        axes.tick_params(labelsize=7.5, pad=2)
        _say_above(axes, panel.title, 8.5)
        charts.append((axes, panel))
    handles = [
        axes.plot([], [], label=label, linewidth=1.8, **_line(style))[0]
        for label, style in figure.legend
    ]
    add_legend(canvas, legend_columns, handles=handles)
    return canvas, charts


def _say_above(axes: Axes, text: str, size: float) -> None:
    axes.annotate(
        text,
        (0, 1),
        (-0.9 * 72 * _LEFT if size == 9.0 else -24, 6),
        xycoords="axes fraction",
        textcoords="offset points",
        fontsize=size,
    )


def _fill(axes: Axes, figure: CurveFigure, linewidth: float, ticks: int) -> None:
    for series in figure.series:
        line, colour = _line(series.style), series.style.colour
        # A single recorded point has no line.
        dot = "o" if len(series.steps) == 1 else ""
        axes.plot(
            series.steps,
            series.values,
            label=series.label,
            linewidth=linewidth,
            marker=dot,
            markersize=3,
            zorder=3,
            **line,
        )
        if figure.bands and series.low is not None and series.high is not None:
            axes.fill_between(
                series.steps, series.low, series.high, color=colour, alpha=0.2, linewidth=0
            )
        if figure.bands and series.single:
            thin = [list(zip(steps, values, strict=True)) for steps, values in series.single]
            axes.add_collection(
                LineCollection(thin, colors=colour, linewidths=0.45 * linewidth, alpha=0.6)
            )
    low, high = figure.limits
    # A curve along the edge of the scale must not be cut in half.
    edge = 0.015 * (high - low)
    axes.set_ylim(low - edge, high + edge)
    axes.set_xlim(0, last_step(figure))
    axes.xaxis.set_major_locator(MaxNLocator(ticks))
    axes.yaxis.set_major_locator(MaxNLocator(ticks))
    if figure.x_digits is None:
        axes.xaxis.set_major_formatter(FuncFormatter(lambda steps, _: steps_text(steps)))
    if max(abs(low), abs(high)) >= 10_000:
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: steps_text(value)))
    axes.grid(visible=False, axis="x")
    axes.spines["left"].set_visible(False)


def last_step(figure: CurveFigure) -> float:
    """Where the horizontal axis, which begins with 0, ends."""
    return max(float(series.steps[-1]) for series in figure.series)


def _line(style: LineStyle) -> dict[str, Any]:
    return {"color": style.colour, "linestyle": (0, style.dashes) if style.dashes else "solid"}


def draw_estimates(figure: EstimateFigure) -> Canvas:
    """A dot and a line for every row, with its numbers above it; the first on top."""
    height = _ESTIMATE * len(figure.rows)
    canvas = new_sheet(WIDTH, TITLE + height + _FOOT, figure.title)
    axes = add_axes(canvas, _RIGHT, TITLE, WIDTH - 2 * _RIGHT, height)
    for place, row in enumerate(figure.rows):
        if row.interval.low is not None and row.interval.high is not None:
            limits = [row.interval.low, row.interval.high]
            axes.plot(limits, [place, place], color=row.colour, linewidth=4, alpha=0.5, zorder=2)
        # A dot at the end of the scale must not be cut in half.
        dot: dict[str, Any] = {"color": row.colour, "markersize": 7, "clip_on": False, "zorder": 3}
        axes.plot([row.interval.point], [place], "o", **dot)
        numbers = interval_text(row.interval, figure.digits)
        # Lines must not run through the words.
        ground = {"facecolor": PAPER, "edgecolor": "none", "pad": 1.0}
        for at, side, text in ((0.0, "left", row.label), (1.0, "right", numbers)):
            where: dict[str, Any] = {"ha": side, "transform": axes.get_yaxis_transform()}
            axes.text(at, place - 0.3, text, bbox=ground, **where)
    if figure.reference is not None:
        axes.axvline(figure.reference[0], **_DASHED)
    axes.set_yticks([])
    axes.set_ylim(len(figure.rows) - 0.6, -0.8)
    axes.set_xlim(*figure.limits)
    axes.set_xlabel(figure.x_label)
    axes.spines["left"].set_visible(False)
    return canvas


def draw_bars(figure: BarFigure) -> Canvas:
    """A row of bars for every task, the first on top."""
    columns, legend = legend_shape([bars.label for bars in figure.methods], WIDTH)
    tasks, thickness = len(figure.tasks), _BAR_SHARE / len(figure.methods)
    height = tasks * max(0.22, _BAR / thickness)
    canvas = new_sheet(WIDTH, TITLE + _HEAD + height + _FOOT + legend, figure.title)
    axes = add_axes(canvas, _BAR_NAMES, TITLE + _HEAD, WIDTH - _BAR_NAMES - _RIGHT, height)
    for number, bars in enumerate(figure.methods):
        first = (number + 0.5) * thickness - _BAR_SHARE / 2
        axes.barh(
            [place + first for place in range(tasks)],
            [value or 0.0 for value in bars.values],
            0.9 * thickness,
            color=bars.colour,
            alpha=0.5 if bars.faint else 1.0,
            label=bars.label,
        )
    axes.set_xscale("asinh", linear_width=BAR_LINEAR_WIDTH)
    low, high = figure.range
    ticks = [tick for tick in BAR_TICKS if low <= tick <= high]
    axes.set_xticks(ticks, [number_text(tick, 1 if 0 < tick < 1 else 0) for tick in ticks])
    axes.set_xticks([], minor=True)
    # Nobody should have to scroll past 57 games to see what a bar's length means.
    axes.tick_params(axis="x", labeltop=True)
    axes.axvline(figure.reference[0], **_DASHED)
    axes.set_yticks(range(tasks), figure.tasks)
    axes.set(xlim=(1.05 * low, 1.15 * high), ylim=(tasks - 0.5, -0.5))
    axes.set_xlabel(f"{figure.x_label}; dashed: {figure.reference[1]}")
    axes.grid(visible=False, axis="y")
    axes.spines["left"].set_visible(False)
    add_legend(canvas, columns)
    return canvas
