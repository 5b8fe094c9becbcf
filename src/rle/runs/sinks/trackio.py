"""Trackio, the local experiment tracker with a dashboard (extra: trackio)."""

from __future__ import annotations

import os
from typing import Any

import trackio

from rle.config import RunConfig
from rle.runs.callbacks import Callback
from rle.runs.directory import RunDirectory
from rle.runs.episodes import Episode
from rle.runs.trainer import Trainer
from rle.settings import to_dict


class TrackioSink(Callback):
    """Logs every metric over steps, to the project `TRACKIO_PROJECT` (`rle` if it is not set)."""

    def __init__(self, run: RunDirectory, config: RunConfig) -> None:
        self._settings: dict[str, Any] = {
            "project": os.environ.get("TRACKIO_PROJECT", "rle"),
            "name": run.path.name,
            # A resumed run goes on under its name.
            "resume": "allow",
            "config": to_dict(config),
        }

    def on_start(self, run: RunDirectory, trainer: Trainer) -> None:
        self._log: Any = trackio.init(**self._settings)

    def on_iteration(
        self, trainer: Trainer, metrics: dict[str, Any], episodes: list[Episode]
    ) -> None:
        values = {name: value for name, value in metrics.items() if name != "step"}
        self._log.log(values, step=metrics["step"])

    def on_end(self, run: RunDirectory, trainer: Trainer) -> None:
        self._log.finish()
