"""Progress as one line that fits the terminal: what matters less makes room, nothing wraps."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, Group, RenderResult
from rich.live import Live
from rich.text import Text

REFRESHES_PER_SECOND = 4
SHORTEST_LABEL = 10
SHORTEST_BAR, LONGEST_BAR = 8, 40
GAP = "  "


@dataclass(frozen=True)
class ProgressLine:
    """How far something has come."""

    label: str
    step: int
    total: int
    rate: float
    """Steps per second; 0: not known yet."""
    notes: Sequence[str] = ()
    """What else is worth watching, the most important first."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield self.fitted(options.max_width)

    def fitted(self, width: int) -> Text:
        """The line with `width` signs at most: the notes, then the whole label, steps and a bar."""
        fraction = min(self.step / max(self.total, 1), 1.0)
        numbers = [f"{fraction:4.0%}", rate_text(self.rate), self._time_left(), *self.notes]
        # One sign stays free: some terminals wrap a line that ends in their last column.
        room = width - 1
        while len(numbers) > 1 and room - len(GAP.join(["", *numbers])) < min(
            len(self.label), SHORTEST_LABEL
        ):
            numbers.pop()
        label = Text(self.label)
        label.truncate(max(room - len(GAP.join(["", *numbers])), 1), overflow="ellipsis")
        room -= len(GAP.join([label.plain, *numbers]))
        counts = f"{short_number(self.step)} of {short_number(self.total)}"
        if room >= len(counts) + len(GAP):
            numbers.insert(1, counts)
            room -= len(counts) + len(GAP)
        length = min(room - len(GAP), LONGEST_BAR)
        bar = [_bar(fraction, length)] if length >= SHORTEST_BAR else []
        line = Text(GAP).join([label, *bar, Text(GAP.join(numbers))])
        line.no_wrap = True
        return line

    def _time_left(self) -> str:
        if self.rate <= 0:
            return "starting"
        return f"{clock(max(self.total - self.step, 0) / self.rate)} left"


def _bar(fraction: float, width: int) -> Text:
    full = int(fraction * width)
    return Text.assemble(("━" * full, "bar.complete"), ("─" * (width - full), "bar.back"))


def short_number(number: float) -> str:
    """1,250,000 as 1.25M."""
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if number >= size:
            return f"{number / size:.3g}{letter}"
    return f"{number:.0f}"


def rate_text(rate: float) -> str:
    """Steps per second, in a few signs."""
    return f"{short_number(rate)}/s" if rate > 0 else "-/s"


def clock(seconds: float) -> str:
    """Seconds as 3:05, 1:02:05 or 2d 3h."""
    hours, rest = divmod(round(seconds), 3600)
    if hours >= 48:
        return f"{hours // 24}d {hours % 24}h"
    return f"{hours}:{rest // 60:02}:{rest % 60:02}" if hours else f"{rest // 60}:{rest % 60:02}"


def shows_lines() -> bool:
    """Whether the output is a terminal on which a line can be written anew."""
    return sys.stdout.isatty() and os.environ.get("TERM") != "dumb"


class LiveLines:
    """Lines at the bottom of the terminal that are shown anew a few times a second."""

    def __init__(self, lines: Callable[[], Sequence[ProgressLine]]) -> None:
        self._lines, self._console = lines, Console()
        self._live = Live(
            get_renderable=self._shown,
            refresh_per_second=REFRESHES_PER_SECOND,
            console=self._console,
        )
        self._live.start()

    def _shown(self) -> Group:
        """The last lines that fit the terminal: the total is the last of them."""
        lines = self._lines()
        return Group(*lines[-max(self._console.size.height - 1, 1) :])

    def close(self) -> None:
        """Show the last state, and leave it there."""
        self._live.stop()
