"""Figures in the page: SVG that scales with the screen and follows light and dark."""

from __future__ import annotations

import base64
import io
from functools import cache
from typing import Any

import numpy as np
from markupsafe import Markup, escape
from matplotlib.image import imsave

from rle.report.figures import ColourScale, CurveFigure, FloatArray, Panel, Path, Pixels
from rle.report.style import nice_ticks, steps_text, tick_text
from rle.tasks import fourroom

# A drawing this narrow is shown almost at its own size on a telephone, so that its text stays
# readable there, and at most a third larger on a wide screen.
WIDTH, HEIGHT = 400, 268
LEFT, RIGHT, TOP, BOTTOM = 44, 24, 24, 40


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
    points = " ".join(
        f"{column + 0.5:.3g},{row + 0.5:.3g}"
        for row, column in _without_repeats(path.rows, path.columns)
    )
    return (
        f'<polyline class="path" points="{points}" stroke="{path.colour}"/>'
        f'<circle class="end" cx="{path.columns[-1] + 0.5:.4g}" cy="{path.rows[-1] + 0.5:.4g}" '
        f'r="0.9" fill="{path.colour}"/>'
    )


def _without_repeats(rows: FloatArray, columns: FloatArray) -> list[tuple[float, float]]:
    pairs = list(zip(rows.tolist(), columns.tolist(), strict=True))
    return [pair for pair, before in zip(pairs, [None, *pairs], strict=False) if pair != before]


def _data_address(pixels: Pixels) -> str:
    buffer = io.BytesIO()
    imsave(buffer, pixels, format="png")
    return "data:image/png;base64," + base64.b64encode(buffer.getvalue()).decode("ascii")


def scale_gradient(scale: ColourScale) -> str:
    """The colours of a scale as a CSS background."""
    return f"linear-gradient(to right, {', '.join(scale.colours)})"


def curve_svg(figure: CurveFigure) -> Markup:
    """Curves with bands, axes and grid; the page adds hover values from `curve_data`."""
    low, high = figure.limits
    longest = max(float(series.steps[-1]) for series in figure.series)
    axes = _Axes(longest, low, high)
    parts = [
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" class="chart" '
        f'aria-label="{escape(figure.title)}: {escape(figure.y_label)} over training steps">',
        *_grid(axes, figure.y_label),
    ]
    if figure.ceiling is not None:
        value, name = figure.ceiling
        y = axes.y(value)
        parts.append(f'<line class="ceiling" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y}" y2="{y}"/>')
        parts.append(
            f'<text class="tick" x="{WIDTH - RIGHT - 2}" y="{y + 12}" text-anchor="end">'
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
    parts.append(f'<line class="cursor" y1="{TOP}" y2="{HEIGHT - BOTTOM}" visibility="hidden"/>')
    parts.append("</svg>")
    return Markup("".join(parts))


class _Axes:
    """Where a step and a value lie in the drawing."""

    def __init__(self, longest: float, low: float, high: float) -> None:
        self.longest, self.low, self.high = longest, low, high

    def x(self, step: float) -> float:
        return round(LEFT + step / self.longest * (WIDTH - LEFT - RIGHT), 1)

    def y(self, value: float) -> float:
        share = (value - self.low) / (self.high - self.low)
        return round(HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM), 1)

    def points(self, steps: FloatArray, values: FloatArray) -> list[str]:
        return [f"{self.x(s)},{self.y(v)}" for s, v in zip(steps, values, strict=True)]


def _grid(axes: _Axes, y_label: str) -> list[str]:
    bottom = HEIGHT - BOTTOM
    parts = [f'<text class="axis" x="4" y="12">{escape(y_label)}</text>']
    y_ticks = nice_ticks(axes.low, axes.high)
    for value in y_ticks:
        y = axes.y(value)
        parts.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y}" y2="{y}"/>')
        parts.append(
            f'<text class="tick" x="{LEFT - 6}" y="{y + 4}" text-anchor="end">'
            f"{tick_text(value, y_ticks)}</text>"
        )
    for step in nice_ticks(0.0, axes.longest, 5):
        x = axes.x(step)
        parts.append(f'<line class="grid" x1="{x}" x2="{x}" y1="{bottom}" y2="{bottom + 4}"/>')
        parts.append(
            f'<text class="tick" x="{x}" y="{bottom + 16}" text-anchor="middle">'
            f"{steps_text(step)}</text>"
        )
    middle = (LEFT + WIDTH - RIGHT) / 2
    parts.append(
        f'<text class="axis" x="{middle}" y="{HEIGHT - 6}" text-anchor="middle">'
        "training steps</text>"
    )
    return parts


def curve_data(figure: CurveFigure) -> dict[str, Any]:
    """What the page's script needs to show values under the pointer."""
    return {
        "left": LEFT,
        "right": WIDTH - RIGHT,
        "width": WIDTH,
        "longest": max(float(series.steps[-1]) for series in figure.series),
        "digits": figure.digits,
        "series": [
            {
                "label": series.label,
                "colour": series.style.colour,
                "steps": [int(step) for step in series.steps],
                "values": _rounded(series.values),
                "low": None if series.low is None else _rounded(series.low),
                "high": None if series.high is None else _rounded(series.high),
            }
            for series in figure.series
        ],
    }


def _rounded(values: FloatArray) -> list[float]:
    return [float(f"{value:.5g}") for value in values]
