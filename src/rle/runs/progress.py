"""Progress of a run: a live line on a terminal, plain lines elsewhere."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any, Protocol

from rle.runs.callbacks import Callback
from rle.runs.directory import RunDirectory
from rle.runs.episodes import Episode
from rle.runs.line import LiveLines, ProgressLine, shows_lines
from rle.runs.trainer import Trainer

SECONDS_BETWEEN_LINES = 10.0


class ProgressDisplay(Protocol):
    """Shows how far a run has come."""

    def update(self, step: int, metrics: dict[str, Any]) -> None:
        """The run reached `step`."""

    def close(self) -> None:
        """The run is over or interrupted."""


WATCHED = {
    "score": "{:.2f}",
    "success": "{:.1%}",  # of tasks that measure it
    "coverage": "{:.1%}",
    "entropy": "{:.2f}",
}
"""The few numbers worth watching, and how they are written."""


def describe(metrics: Mapping[str, Any]) -> list[str]:
    """The numbers worth watching, as far as they are there."""
    return [
        f"{name} {pattern.format(metrics[name])}"
        for name, pattern in WATCHED.items()
        if isinstance(metrics.get(name), int | float)
    ]


class Bar:
    """A live line with a bar, rate and time left."""

    def __init__(self, label: str, step: int, total: int) -> None:
        self._started, self._first = time.monotonic(), step
        self._line = ProgressLine(label, step, total, rate=0.0)
        self._live = LiveLines(lambda: [self._line])

    def update(self, step: int, metrics: dict[str, Any]) -> None:
        rate = (step - self._first) / max(time.monotonic() - self._started, 1e-9)
        line = self._line
        self._line = ProgressLine(line.label, step, line.total, rate, describe(metrics))

    def close(self) -> None:
        self._live.close()


class Lines:
    """One plain line every few seconds."""

    def __init__(self, label: str, step: int, total: int) -> None:
        self._label, self._total, self._first = label, total, step
        self._started = time.monotonic()
        self._shown = self._started

    def update(self, step: int, metrics: dict[str, Any]) -> None:
        now = time.monotonic()
        if now - self._shown < SECONDS_BETWEEN_LINES and step < self._total:
            return
        self._shown = now
        rate = (step - self._first) / max(now - self._started, 1e-9)
        left = max(self._total - step, 0) / max(rate, 1e-9)
        parts = [
            f"{self._label}: {step:,} of {self._total:,} steps",
            f"{rate:,.0f} steps/s",
            f"{left:.0f} s left",
            *describe(metrics),
        ]
        print(", ".join(parts), flush=True)

    def close(self) -> None:
        pass


class ShowProgress(Callback):
    """Shows how far the run is in what suits where the output goes."""

    def on_start(self, run: RunDirectory, trainer: Trainer) -> None:
        config = trainer.config
        label = f"{config.task} {config.explore} seed {config.seed}"
        kind = Bar if shows_lines() else Lines
        self._display: ProgressDisplay = kind(label, trainer.step, config.total_steps)

    def on_iteration(
        self, trainer: Trainer, metrics: dict[str, Any], episodes: list[Episode]
    ) -> None:
        self._display.update(trainer.step, metrics)

    def on_end(self, run: RunDirectory, trainer: Trainer) -> None:
        self._display.close()
