"""How the report speaks: one way to write each number, and names as parts of sentences."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping

from rle.stats import Interval

DASH = "–"
"""Stands in a table where there is no number."""
MOST_NAMED = 4
"""So many methods fit into a sentence."""
FRAMES_PER_STEP = 4
"""Atari games are played with a frame skip of four."""


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


def frames_text(steps: int) -> str:
    """Steps of an Atari game in both units: 40 M (160 M frames)."""
    return f"{steps_text(steps)} ({steps_text(FRAMES_PER_STEP * steps)} frames)"


def number_text(value: float | None, digits: int) -> str:
    """A number with a fixed number of decimals and thousands set apart; a dash for none."""
    if value is None or math.isnan(value):
        return DASH
    # -0.000 would puzzle a reader.
    rounded = round(value, digits) + 0.0
    return f"{rounded:,.{digits}f}".replace(",", "\u202f").replace("-", "−")


def interval_text(interval: Interval, digits: int) -> str:
    """An estimate, and its limits in brackets where it has any."""
    text = number_text(interval.point, digits)
    if interval.low is None or interval.high is None:
        return text
    return f"{text} [{number_text(interval.low, digits)}, {number_text(interval.high, digits)}]"


def join(names: list[str]) -> str:
    """Names as a part of a sentence."""
    if len(names) > MOST_NAMED:
        return f"{len(names)} others"
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def plural(number: int, word: str) -> str:
    """A number with its word."""
    return f"{number} {word}" if number == 1 else f"{number} {word}s"


def span(values: Iterable[int], text: Callable[[int], str]) -> str:
    """The lowest and the highest of some numbers, or the only one."""
    numbers = list(values)
    return " to ".join(dict.fromkeys(text(number) for number in (min(numbers), max(numbers))))


def lengths_text(lengths: Mapping[str, int], text: Callable[[int], str]) -> str:
    """How long some tasks were trained for; those that took longer are named."""
    usual = min(lengths.values())
    longer = [f", {task} {text(steps)}" for task, steps in lengths.items() if steps > usual]
    return text(usual) + "".join(longer)
