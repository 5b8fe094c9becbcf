"""Estimates and bars in the page, as SVG."""

from __future__ import annotations

import math

from markupsafe import Markup, escape

from rle.report.figures import BAR_LINEAR_WIDTH, BAR_TICKS, BarFigure, EstimateFigure
from rle.report.style import nice_ticks, number_text, tick_text
from rle.report.tables import interval_text

WIDTH = 400
_MARGIN = 10
_ROW = 40
"""Height of an estimate: a line of words above its interval."""
_NAMES, _BAR, _BETWEEN = 126, 6, 6
"""Width of the names of tasks, height of a bar, distance of two tasks."""
_HEAD = 16
"""Height of the numbers above the bars."""
_AXIS = 42
"""Height of the axis and its title."""


def estimates_svg(figure: EstimateFigure) -> Markup:
    """A dot and an interval for every row, with its numbers above it."""
    low, high = figure.limits
    bottom = _ROW * len(figure.rows) + 8

    def x(value: float) -> float:
        share = (min(max(value, low), high) - low) / (high - low)
        return round(_MARGIN + share * (WIDTH - 2 * _MARGIN), 1)

    parts = [_opening(bottom + _AXIS, f"{figure.title}: {figure.x_label}")]
    ticks = nice_ticks(low, high)
    parts += _vertical_axis_lines([(x(tick), tick_text(tick, ticks)) for tick in ticks], 4, bottom)
    if figure.reference is not None:
        at = x(figure.reference[0])
        parts.append(f'<line class="ceiling" x1="{at}" x2="{at}" y1="4" y2="{bottom}"/>')
    for place, row in enumerate(figure.rows):
        top = _ROW * place + 8
        numbers = interval_text(row.interval, figure.digits)
        parts.append(
            f'<text class="axis" x="{_MARGIN}" y="{top + 11}">{escape(row.label)}</text>'
            f'<text class="axis" x="{WIDTH - _MARGIN}" y="{top + 11}" text-anchor="end">'
            f"{escape(numbers)}</text>"
        )
        if row.interval.low is not None and row.interval.high is not None:
            parts.append(
                f'<line class="interval" x1="{x(row.interval.low)}" x2="{x(row.interval.high)}" '
                f'y1="{top + 22}" y2="{top + 22}" stroke="{row.colour}"/>'
            )
        parts.append(
            f'<circle cx="{x(row.interval.point)}" cy="{top + 22}" r="5" fill="{row.colour}">'
            f"<title>{escape(row.label)}: {escape(numbers)}</title></circle>"
        )
    parts.append(_axis_title(figure.x_label, _MARGIN, bottom + 34))
    return Markup("".join([*parts, "</svg>"]))


def bars_svg(figure: BarFigure) -> Markup:
    """A row of bars for every task; the value appears when the pointer rests on a bar."""
    low, high = figure.range
    first, last = _compressed(low), _compressed(high)

    def x(value: float) -> float:
        share = (_compressed(value) - first) / (last - first)
        return round(_NAMES + share * (WIDTH - _NAMES - _MARGIN), 1)

    row = _BAR * len(figure.methods) + _BETWEEN
    bottom = _HEAD + row * len(figure.groups) + 6
    parts = [_opening(bottom + _AXIS, f"{figure.title}: {figure.x_label}")]
    ticks = [tick for tick in BAR_TICKS if low <= tick <= high]
    labelled = [(x(tick), number_text(tick, 1 if 0 < tick < 1 else 0)) for tick in ticks]
    parts += _vertical_axis_lines(labelled, _HEAD, bottom)
    # Nobody should have to scroll past 57 games to see what a bar's length means.
    parts += [_tick(at, _HEAD - 4, text) for at, text in labelled]
    for place, group in enumerate(figure.groups):
        top = _HEAD + place * row + 4
        middle = top + row / 2
        parts.append(
            f'<text class="axis" x="{_NAMES - 6}" y="{middle}" text-anchor="end">'
            f"{escape(group.title)}</text>"
        )
        for number, (method, value) in enumerate(zip(figure.methods, group.values, strict=True)):
            if value is None:
                continue
            left, right = sorted((x(0.0), x(value)))
            faint = ' opacity="0.5"' if method.faint else ""
            parts.append(
                f'<rect x="{left}" y="{top + number * _BAR}" width="{max(right - left, 0.8):.1f}" '
                f'height="{_BAR - 1}" fill="{method.colour}"{faint}><title>{escape(group.title)}, '
                f"{escape(method.label)}: {number_text(value, figure.digits)}</title></rect>"
            )
    at = x(figure.reference[0])
    parts.append(f'<line class="ceiling" x1="{at}" x2="{at}" y1="{_HEAD}" y2="{bottom}"/>')
    title = f"{figure.x_label}; dashed: {figure.reference[1]}"
    parts.append(_axis_title(title, _MARGIN, bottom + 34))
    return Markup("".join([*parts, "</svg>"]))


def _compressed(value: float) -> float:
    return math.asinh(value / BAR_LINEAR_WIDTH)


def _opening(height: float, description: str) -> str:
    return (
        f'<svg viewBox="0 0 {WIDTH} {height}" role="img" class="chart" '
        f'aria-label="{escape(description)}">'
    )


def _vertical_axis_lines(ticks: list[tuple[float, str]], top: float, bottom: float) -> list[str]:
    parts = []
    for at, text in ticks:
        parts.append(f'<line class="grid" x1="{at}" x2="{at}" y1="{top}" y2="{bottom}"/>')
        parts.append(_tick(at, bottom + 15, text))
    return parts


def _tick(x: float, y: float, text: str) -> str:
    return f'<text class="tick" x="{x}" y="{y}" text-anchor="middle">{text}</text>'


def _axis_title(text: str, left: float, y: float) -> str:
    return f'<text class="axis" x="{left}" y="{y}">{escape(text)}</text>'
