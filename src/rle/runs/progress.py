"""Progress of a run: a bar on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from typing import Any, Protocol

from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeRemainingColumn,
)

from rle.runs.callbacks import Callback
from rle.runs.directory import RunDirectory
from rle.runs.episodes import Episode
from rle.runs.trainer import Trainer

SECONDS_BETWEEN_LINES = 10.0


class ProgressDisplay(Protocol):
    """Shows how far a run has come."""

    def update(self, step: int, metrics: dict[str, Any]) -> None:
        """The run reached `step`."""

    def close(self) -> None:
        """The run is over or interrupted."""


def describe(metrics: dict[str, Any]) -> str:
    """The few numbers worth watching."""
    parts = []
    for name, label, pattern in (
        ("score", "score", "{:.2f}"),
        ("coverage", "coverage", "{:.1%}"),
        ("entropy", "entropy", "{:.2f}"),
    ):
        if name in metrics:
            parts.append(f"{label} {pattern.format(metrics[name])}")
    return ", ".join(parts)


class Bar:
    """A live bar with rate and time left."""

    def __init__(self, label: str, step: int, total: int) -> None:
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[rate]} steps/s"),
            TimeRemainingColumn(),
            TextColumn("{task.fields[note]}"),
        )
        self._task = self._progress.add_task(label, total=total, completed=step, rate="-", note="")
        self._started, self._first = time.monotonic(), step
        self._progress.start()

    def update(self, step: int, metrics: dict[str, Any]) -> None:
        rate = (step - self._first) / max(time.monotonic() - self._started, 1e-9)
        self._progress.update(
            self._task, completed=step, rate=f"{rate:,.0f}", note=describe(metrics)
        )

    def close(self) -> None:
        self._progress.stop()


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
        print(
            f"{self._label}: {step:,} of {self._total:,} steps, {rate:,.0f} steps/s, "
            f"{left:.0f} s left, {describe(metrics)}",
            flush=True,
        )

    def close(self) -> None:
        pass


class ShowProgress(Callback):
    """Shows how far the run is in what suits where the output goes."""

    def on_start(self, run: RunDirectory, trainer: Trainer) -> None:
        config = trainer.config
        label = f"{config.task} {config.explore} seed {config.seed}"
        kind = Bar if sys.stdout.isatty() else Lines
        self._display: ProgressDisplay = kind(label, trainer.step, config.total_steps)

    def on_iteration(
        self, trainer: Trainer, metrics: dict[str, Any], episodes: list[Episode]
    ) -> None:
        self._display.update(trainer.step, metrics)

    def on_end(self, run: RunDirectory, trainer: Trainer) -> None:
        self._display.close()
