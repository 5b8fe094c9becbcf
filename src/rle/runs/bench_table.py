"""What `rle bench` prints: a table of speeds and ratios, and where our own time goes."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence

from rle.runs.limits import Limits
from rle.runs.rounds import Round

INSTALL = "pip install 'random-latent-exploration[bench]'"
"""What installs every peer."""


class Rates:
    """One contender's rounds."""

    def __init__(self, label: str, rounds: Sequence[Round]) -> None:
        self.label, self.rounds = label, rounds
        self.rates = [measured.rate for measured in rounds]

    @property
    def median(self) -> float:
        """Median agent steps per second over the rounds."""
        return statistics.median(self.rates)

    @property
    def peak_memory(self) -> float:
        """Peak resident memory of its process, in bytes."""
        return max(measured.peak_memory for measured in self.rounds)

    @property
    def busy_cores(self) -> float:
        """How many cores it kept busy, on average."""
        measured = self.rounds
        return sum(m.core_seconds for m in measured) / sum(m.seconds for m in measured)

    @property
    def typical(self) -> Round:
        """Its median round. Shares are of that one: in another, something may have been compiled."""
        return min(self.rounds, key=lambda measured: abs(measured.rate - self.median))

    def ratios(self, other: Rates) -> list[float]:
        """How many times as fast as `other` it was, round by round."""
        return [mine / theirs for mine, theirs in zip(self.rates, other.rates, strict=True)]

    def shares(self) -> str:
        """Where the time of its median round went, in words."""
        parts = self.typical.shares
        return _percentages({part: spent / self.typical.seconds for part, spent in parts.items()})

    def least(self, limits: Limits) -> list[str]:
        """What the parts of its median round would take at the least, in lines of words."""
        per_share = self.typical.steps / self.typical.seconds
        speed = limits.multiply_adds_per_second / 1e9
        lines = []
        for what, seconds in (
            (f"matrix products alone, at {speed:,.0f} G multiply-adds/s", limits.products),
            ("the engine alone, under random actions", limits.engine),
        ):
            if seconds:
                shares = {part: spent * per_share for part, spent in seconds.items()}
                lines.append(f"{what}, would take: {_percentages(shares)}")
        return lines


def _percentages(shares: Mapping[str, float]) -> str:
    return ", ".join(f"{part} {share:.0%}" for part, share in shares.items())


def table(
    task: str,
    measured: Sequence[Rates],
    threads: int,
    missing: Sequence[str] = (),
    limits: Limits | None = None,
) -> str:
    """All of it; the first of `measured` is what the others are compared with.

    Ratios are medians over rounds of the ratio within a round, from the lowest to the highest of them.
    `missing` are labels of peers that are not installed.
    """
    base = measured[0]
    lines = [
        f"{task}: agent steps per second, median of {len(base.rounds)} rounds, each contender in its "
        f"own process with {threads} PyTorch thread{'s' if threads > 1 else ''}",
        f"{'':25}{'steps/s':>9}{'lowest':>9}{'highest':>9}"
        f"{base.label + ' is':>9}{'from':>7}{'to':>7}{'cores':>7}{'memory':>10}",
    ]
    for rates in measured:
        ratios = base.ratios(rates)
        lines.append(
            f"{rates.label:25}{rates.median:>9,.0f}{min(rates.rates):>9,.0f}{max(rates.rates):>9,.0f}"
            f"{statistics.median(ratios):>8.2f}x{min(ratios):>7.2f}{max(ratios):>7.2f}"
            f"{rates.busy_cores:>7.1f}{rates.peak_memory / 1e9:>7.2f} GB"
        )
    lines.append(f"{base.label} spends its time on: {base.shares()}")
    lines += [] if limits is None else base.least(limits)
    if missing:
        lines.append(f"not installed: {', '.join(missing)}; {INSTALL}")
    return "\n".join(lines)
