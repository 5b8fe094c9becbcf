"""One thing that was found: how bad it is, what it is about, a sentence and the number behind it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

Level = Literal["problem", "notice", "fine"]
LEVELS: tuple[Level, ...] = ("problem", "notice", "fine")
"""The worst first. A problem keeps RLE from working; a notice may be meant so; fine was looked at."""


@dataclass(frozen=True)
class Finding:
    """What was found about one subject."""

    level: Level
    subject: str
    """What it is about, in a word or two."""
    sentence: str
    """What was seen, with its number, and what to change where something is wrong."""
    number: float | None = None
    """The number that was judged."""

    def __str__(self) -> str:
        return f"{self.level}: {self.subject}: {self.sentence}"


def by_severity(findings: Iterable[Finding]) -> list[Finding]:
    """The worst first; among equals, in the order in which they were found."""
    return sorted(findings, key=lambda finding: LEVELS.index(finding.level))


def has_problem(findings: Iterable[Finding]) -> bool:
    """Whether one of them is a problem."""
    return any(finding.level == "problem" for finding in findings)


def readable(number: float) -> str:
    """A number with three digits, as people write it."""
    if number == 0 or 0.001 <= abs(number) < 1000:
        return f"{number:.3g}"
    if 1000 <= abs(number) < 1_000_000:
        return f"{number:,.0f}"
    mantissa, exponent = f"{number:.1e}".split("e")
    return f"{mantissa.removesuffix('.0')}e{int(exponent)}"
