"""Figures in the page: SVG that scales with the screen and follows light and dark."""

from __future__ import annotations

import base64
import io
from functools import cache
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np
from markupsafe import Markup, escape
from matplotlib.image import imsave

from rle.report.figures import ColourScale, CurveFigure, FloatArray, Panel, Path, Pixels
from rle.report.style import nice_ticks, steps_text, tick_text
from rle.tasks import fourroom

# A drawing this narrow is shown almost at its own size on a telephone, so that its text stays
# readable there, and at most a third larger on a wide screen.
LEFT, RIGHT = 44, 24


class Frame(NamedTuple):
    """Size of a drawing, and the room above and below its axes."""

    width: int
    height: int
    top: int
    bottom: int


WHOLE = Frame(400, 268, 24, 40)
SMALL = Frame(270, 160, 8, 22)
"""One of many: without titles of its axes."""


@cache
def wall_path() -> str:
    """The walls as one SVG path, in cells."""
    walls = np.argwhere(~fourroom.free_cells().numpy())
    return "".join(f"M{column} {row}h1v1h-1z" for row, column in walls)


def symbols() -> Markup:
    """What panels refer to; to be put into the page once."""
    return Markup(
        '<svg width="0" height="0" class="symbols" aria-hidden="true">'
        f'<symbol id="walls" viewBox="0 0 {fourroom.SIZE} {fourroom.SIZE}" overflow="visible">'
        f'<path d="{wall_path()}"/></symbol></svg>'
    )


def panel_svg(panel: Panel, unvisited: bool) -> Markup:
    """One picture of the grid world."""
    size = fourroom.SIZE
    parts = [
        f'<svg viewBox="0 0 {size} {size}" role="img" aria-label="{escape(panel.title)}" '
        f'class="{"heat" if panel.pixels is not None or unvisited else "lines"}">',
        f'<rect class="floor" width="{size}" height="{size}"/>',
    ]
    if panel.pixels is not None:
        parts.append(
            f'<image width="{size}" height="{size}" href="{_data_address(panel.pixels)}" '
            'preserveAspectRatio="none"/>'
        )
    parts.append(f'<use class="wall" href="#walls" width="{size}" height="{size}"/>')
    parts.extend(_path_svg(path) for path in panel.paths)
    if panel.television is not None:
        row, column = panel.television
        side = fourroom.TELEVISION_SIZE + 1
        parts.append(
            f'<rect class="television" x="{column - 0.5}" y="{row - 0.5}" '
            f'width="{side}" height="{side}"/>'
        )
    parts.append(f'<text class="mark" x="{size - 0.4}" y="4.3" text-anchor="end">S</text>')
    if panel.goal:
        parts.append(f'<text class="mark goal" x="0.3" y="{size + 2.6}">*</text>')
    if panel.missing:
        parts.append(f'<text class="missing" x="12.5" y="13.5">{escape(panel.missing)}</text>')
    parts.append("</svg>")
    return Markup("".join(parts))


def _path_svg(path: Path) -> str:
    start = f"M{path.columns[0] + 0.5:.4g} {path.rows[0] + 0.5:.4g}"
    return (
        f'<path class="path" d="{start}{_moves(path)}" stroke="{path.colour}"/>'
        f'<circle class="end" cx="{path.columns[-1] + 0.5:.4g}" cy="{path.rows[-1] + 0.5:.4g}" '
        f'r="0.9" fill="{path.colour}"/>'
    )


def _moves(path: Path) -> str:
    """The way from cell to cell, each straight stretch one move: a page holds very many of them."""
    moves = np.rint(np.diff([path.columns, path.rows])).astype(int).T.tolist()
    parts = []
    for (right, down), same in groupby(moves):
        number = len(list(same))
        if right and down:
            parts.append(f"l{number * right} {number * down}")
        elif right:
            parts.append(f"h{number * right}")
        elif down:
            parts.append(f"v{number * down}")
    return "".join(parts)


def _data_address(pixels: Pixels) -> str:
    buffer = io.BytesIO()
    imsave(buffer, pixels, format="png")
    return "data:image/png;base64," + base64.b64encode(buffer.getvalue()).decode("ascii")


def scale_gradient(scale: ColourScale) -> str:
    """The colours of a scale as a CSS background."""
    return f"linear-gradient(to right, {', '.join(scale.colours)})"


def curve_svg(figure: CurveFigure, frame: Frame = WHOLE) -> Markup:
    """Curves with bands, axes and grid; the page adds hover values from `curve_data`."""
    axes = _Axes(frame, _end(figure), *figure.limits)
    width, height, top, bottom = frame
    parts = [
        f'<svg viewBox="0 0 {width} {height}" role="img" class="chart" '
        f'aria-label="{escape(figure.title)}: {escape(figure.y_label)} over '
        f'{escape(figure.x_label)}">',
        *_grid(axes, figure),
    ]
    if frame is WHOLE:
        parts += _titles(frame, figure)
    if figure.ceiling is not None:
        value, name = figure.ceiling
        y = axes.y(value)
        parts.append(f'<line class="ceiling" x1="{LEFT}" x2="{width - RIGHT}" y1="{y}" y2="{y}"/>')
        parts.append(
            f'<text class="tick" x="{width - RIGHT - 2}" y="{y + 12}" text-anchor="end">'
            f"{escape(name)}</text>"
        )
    for series in figure.series:
        if figure.bands and series.low is not None and series.high is not None:
            there = axes.points(series.steps, series.low)
            back = axes.points(series.steps, series.high)[::-1]
            parts.append(
                f'<polygon class="band" points="{" ".join(there + back)}" '
                f'fill="{series.style.colour}"/>'
            )
    for series in figure.series:
        points = axes.points(series.steps, series.values)
        # A single recorded point has no line; it is drawn as a dot by its round end.
        points = points * 2 if len(points) == 1 else points
        dashes = " ".join(f"{length:g}" for length in series.style.dashes)
        parts.append(
            f'<polyline class="curve" points="{" ".join(points)}" stroke="{series.style.colour}"'
            + (f' stroke-dasharray="{dashes}"' if dashes else "")
            + "/>"
        )
    parts.append(f'<line class="cursor" y1="{top}" y2="{height - bottom}" visibility="hidden"/>')
    parts.append("</svg>")
    return Markup("".join(parts))


def _end(figure: CurveFigure) -> float:
    """Where the horizontal axis ends."""
    return max(float(series.steps[-1]) for series in figure.series)


class _Axes:
    """Where a step and a value lie in the drawing."""

    def __init__(self, frame: Frame, longest: float, low: float, high: float) -> None:
        self.frame, self.longest, self.low, self.high = frame, longest, low, high

    def x(self, step: float) -> float:
        return round(LEFT + step / self.longest * (self.frame.width - LEFT - RIGHT), 1)

    def y(self, value: float) -> float:
        _, height, top, bottom = self.frame
        share = (value - self.low) / (self.high - self.low)
        return round(height - bottom - share * (height - top - bottom), 1)

    def points(self, steps: FloatArray, values: FloatArray) -> list[str]:
        return [f"{self.x(s)},{self.y(v)}" for s, v in zip(steps, values, strict=True)]


def _grid(axes: _Axes, figure: CurveFigure) -> list[str]:
    width, height, _, below = axes.frame
    bottom = height - below
    count = 5 if axes.frame is WHOLE else 3
    parts = []
    y_ticks = nice_ticks(axes.low, axes.high, count)
    for value in y_ticks:
        y = axes.y(value)
        parts.append(f'<line class="grid" x1="{LEFT}" x2="{width - RIGHT}" y1="{y}" y2="{y}"/>')
        parts.append(
            f'<text class="tick" x="{LEFT - 6}" y="{y + 4}" text-anchor="end">'
            f"{tick_text(value, y_ticks)}</text>"
        )
    x_ticks = nice_ticks(0.0, axes.longest, count)
    for step in x_ticks:
        x = axes.x(step)
        text = steps_text(step) if figure.x_digits is None else tick_text(step, x_ticks)
        parts.append(f'<line class="grid" x1="{x}" x2="{x}" y1="{bottom}" y2="{bottom + 4}"/>')
        parts.append(
            f'<text class="tick" x="{x}" y="{bottom + 16}" text-anchor="middle">{text}</text>'
        )
    return parts


def _titles(frame: Frame, figure: CurveFigure) -> list[str]:
    middle = (LEFT + frame.width - RIGHT) / 2
    return [
        f'<text class="axis" x="4" y="12">{escape(figure.y_label)}</text>',
        f'<text class="axis" x="{middle}" y="{frame.height - 6}" text-anchor="middle">'
        f"{escape(figure.x_label)}</text>",
    ]


def curve_data(figure: CurveFigure, frame: Frame = WHOLE) -> dict[str, Any]:
    """What the page's script needs to show values under the pointer."""
    whole = figure.x_digits is None
    return {
        "left": LEFT,
        "right": frame.width - RIGHT,
        "width": frame.width,
        "longest": _end(figure),
        "unit": "steps" if whole else figure.x_label,
        "digits": figure.digits,
        "series": [
            {
                "label": series.label,
                "colour": series.style.colour,
                "steps": [int(step) for step in series.steps] if whole else _rounded(series.steps),
                "values": _rounded(series.values),
                "low": None if series.low is None else _rounded(series.low),
                "high": None if series.high is None else _rounded(series.high),
            }
            for series in figure.series
        ],
    }


def _rounded(values: FloatArray) -> list[float]:
    return [float(f"{value:.5g}") for value in values]
