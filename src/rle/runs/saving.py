"""When checkpoints are written: at multiples of some steps, early, every few minutes, and at the end.

Those at multiples and at the end stay. The others are there so that a crash costs little: the next one
takes their place.
"""

from __future__ import annotations

import time
from typing import Any

from rle.runs.checkpoints import Saved
from rle.runs.directory import RunDirectory
from rle.runs.sinks.jsonl import JsonLines
from rle.runs.trainer import Trainer


class Saving:
    """Writes the checkpoints of a run that is being trained."""

    def __init__(self, run: RunDirectory, trainer: Trainer, log: JsonLines) -> None:
        self._run, self._trainer, self._log = run, trainer, log
        self._machine = trainer.config.machine
        self._saved = time.monotonic()
        self._none_yet = not run.checkpoint_steps()

    def after_iteration(self, before: int, metrics: dict[str, Any], stopping: bool) -> None:
        """Write a checkpoint if one is due, `before` being the step at which the iteration began."""
        trainer, every = self._trainer, self._machine.checkpoint_every
        if trainer.step // every > before // every or trainer.done:
            self._save(metrics, passing=False)
        elif stopping or self._none_yet or self._is_time():
            self._save(metrics, passing=True)

    def _is_time(self) -> bool:
        minutes = self._machine.checkpoint_minutes
        return minutes > 0 and time.monotonic() - self._saved >= 60 * minutes

    def _save(self, metrics: dict[str, Any], passing: bool) -> None:
        trainer = self._trainer
        how = Saved(passing, metrics.get("score"), self._machine.keep_checkpoints)
        self._run.save_checkpoint(
            trainer.step, trainer.state_dict(), trainer.artefacts(), self._log.marks(), how
        )
        self._saved, self._none_yet = time.monotonic(), False
