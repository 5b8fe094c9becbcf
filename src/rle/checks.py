"""Checks of what users give, each with one sentence for when it fails."""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterable

from rle.errors import UsageError


def require(condition: bool, message: str) -> None:
    """Raise `UsageError(message)` unless `condition` holds."""
    if not condition:
        raise UsageError(message)


def closest(name: str, choices: Iterable[str]) -> str | None:
    """The one of `choices` that `name` most likely meant, or None if it is like none of them."""
    plain: dict[str, str] = {}
    for choice in choices:
        alike = plain.setdefault(_plain(choice), choice)
        # Of names that differ in nothing but capitals, the one written more like it.
        if alike != choice and _likeness(name, choice) > _likeness(name, alike):
            plain[_plain(choice)] = choice
    wanted = _plain(name)
    similar = difflib.get_close_matches(wanted, plain, n=1)
    if similar:
        return plain[similar[0]]
    # Part of a name, or a name with something added to it.
    parts = [choice for choice in plain if min(len(wanted), len(choice)) > 3]
    parts = [choice for choice in parts if wanted in choice or choice in wanted]
    return plain[min(parts, key=len)] if parts else None


def _likeness(name: str, other: str) -> float:
    return difflib.SequenceMatcher(None, name, other).ratio()


def _plain(name: str) -> str:
    return name.lower().replace("_", "-")


def nearest(name: str, choices: Iterable[str]) -> str:
    """A sentence fragment that suggests the closest of `choices`, or lists them all."""
    choices = list(choices)
    close = closest(name, choices)
    if close is not None:
        return f"did you mean {close!r}?"
    listed = ", ".join(choices[:12]) + (" and others" if len(choices) > 12 else "")
    return f"choose one of: {listed}."


def require_choice(label: str, value: str, choices: tuple[str, ...]) -> None:
    """Raise `UsageError` with the nearest of `choices` unless `value` is one of them."""
    if value not in choices:
        raise UsageError(f"{label} is {value!r}: {nearest(value, choices)}")


LARGEST = 2**63 - 1
"""The largest whole number that arrays can count with."""


def require_positive(label: str, value: float) -> None:
    """Raise `UsageError` unless `value` is above 0 and finite."""
    require(0 < value < math.inf, f"{label} is {value}: give a finite number above 0.")
    _require_countable(label, value)


def require_not_negative(label: str, value: float) -> None:
    """Raise `UsageError` unless `value` is 0 or above it, and finite."""
    require(0 <= value < math.inf, f"{label} is {value}: give 0 or a finite number above it.")
    _require_countable(label, value)


def require_seed(label: str, value: int) -> None:
    """Raise `UsageError` unless `value` is a whole number of up to 128 bits."""
    require(
        0 <= value < 2**128, f"{label} is {short(value)}: give 0 or a number of up to 38 digits."
    )


def _require_countable(label: str, value: float) -> None:
    if isinstance(value, int):
        require(value <= LARGEST, f"{label} is {short(value)}: give at most {LARGEST}.")


def short(value: object, most: int = 60) -> str:
    """The text of a value, cut where nobody would read on."""
    text = str(value)
    return text if len(text) <= most else f"{text[:most]}…"


def require_finite(label: str, value: object) -> None:
    """Raise `UsageError` if `value` is a number that is infinite or none at all."""
    finite = not isinstance(value, float) or math.isfinite(value)
    require(finite, f"{label} is {value}: give a finite number.")


def require_fraction(label: str, value: float) -> None:
    """Raise `UsageError` unless `value` lies in [0, 1]."""
    require(0 <= value <= 1, f"{label} is {value}: give a number from 0 to 1.")


def require_layers(label: str, sizes: tuple[int, ...]) -> None:
    """Raise `UsageError` unless every layer has a unit."""
    require(
        all(size > 0 for size in sizes),
        f"{label} is {list(sizes)}: every layer needs at least one unit.",
    )
    for size in sizes:
        _require_countable(label, size)
