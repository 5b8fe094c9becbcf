"""Weights & Biases, its files in the run directory (extra: wandb)."""

from __future__ import annotations

import hashlib
import os
from typing import Any

import wandb

from rle.config import RunConfig
from rle.errors import UsageError
from rle.runs.callbacks import Callback
from rle.runs.directory import META, RunDirectory
from rle.runs.episodes import Episode
from rle.runs.trainer import Trainer
from rle.settings import to_dict


class WandbSink(Callback):
    """Logs every metric over steps.

    The environment variables of Weights & Biases say where to: `WANDB_PROJECT` (`rle` if it is not
    set), `WANDB_MODE=offline`, and others.
    """

    def __init__(self, run: RunDirectory, config: RunConfig) -> None:
        # A resumed run goes on under its id, which is a function of how and when it began.
        began = (run.path / META).read_bytes() + str(run.path.resolve()).encode()
        self._settings: dict[str, Any] = {
            "project": os.environ.get("WANDB_PROJECT", "rle"),
            "name": run.path.name,
            "id": hashlib.sha256(began).hexdigest()[:16],
            "resume": "allow",
            "dir": str(run.path),
            "config": to_dict(config),
            # Of a run that goes on for longer, the number of steps.
            "allow_val_change": True,
        }

    def on_start(self, run: RunDirectory, trainer: Trainer) -> None:
        try:
            self._log: Any = wandb.init(**self._settings)
        except wandb.errors.Error as error:
            raise UsageError(
                f"Weights & Biases does not start ({' '.join(str(error).split())}): run `wandb login`, "
                "or set WANDB_MODE=offline, and then `rle resume` the run."
            ) from error

    def on_iteration(
        self, trainer: Trainer, metrics: dict[str, Any], episodes: list[Episode]
    ) -> None:
        values = {name: value for name, value in metrics.items() if name != "step"}
        self._log.log(values, step=metrics["step"])

    def on_end(self, run: RunDirectory, trainer: Trainer) -> None:
        self._log.finish()
