"""How the report looks and speaks: one colour per method, one way to write each number."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass

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

DASH = "–"
"""Stands in a table where there is no number."""


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


def file_name(text: str) -> str:
    """`text` as part of a file's name or of an address in the page."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")


def steps_text(steps: float) -> str:
    """Steps as people say them: 500 k, 2.5 M."""
    if steps < 0:
        return f"−{steps_text(-steps)}"
    for size, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        # Run lengths are rounded up to whole rollouts: 2 502 656 steps are "2.5 M" to a reader.
        if steps >= size * 0.9995:
            return f"{float(f'{steps / size:.3g}'):g}\u00a0{unit}"
    return f"{steps:g}"


def number_text(value: float | None, digits: int) -> str:
    """A number with a fixed number of decimals and thousands set apart; a dash for none."""
    if value is None or math.isnan(value):
        return DASH
    # -0.000 would puzzle a reader.
    rounded = round(value, digits) + 0.0
    return f"{rounded:,.{digits}f}".replace(",", "\u202f").replace("-", "−")


def nice_ticks(low: float, high: float, count: int = 5) -> list[float]:
    """About `count` round numbers from `low` to `high`."""
    span = high - low
    if not span > 0:
        return [low]
    rough = span / count
    power = 10.0 ** math.floor(math.log10(rough))
    # Runs are a little longer than a round number: that must not cost half of the ticks.
    step = next(power * factor for factor in (1, 2, 2.5, 5, 10) if power * factor >= 0.95 * rough)
    first = math.ceil(low / step - 1e-9)
    return [tick * step for tick in range(first, math.floor(high / step + 1e-9) + 1)]


def tick_text(value: float, ticks: list[float]) -> str:
    """A tick's label with as many decimals as the distance between ticks needs."""
    if max(map(abs, ticks)) >= 10_000:
        return steps_text(value)
    step = ticks[1] - ticks[0] if len(ticks) > 1 else value
    whole = (d for d in range(7) if math.isclose(step * 10**d, round(step * 10**d), rel_tol=1e-9))
    return number_text(value, next(whole, 7))
