"""What else happens while a run is trained: early stopping, schedules, logging."""

from __future__ import annotations

from typing import Any

from rle.runs.directory import RunDirectory
from rle.runs.episodes import Episode
from rle.runs.trainer import Trainer


class Callback:
    """Does nothing; override what you need. `rle.train` and `rle.resume` take any number of them.

    A callback may end the run with `trainer.stop(reason)`, and set `trainer.learner.learning_rate`.
    Whatever else it changes of the trainer, the run is no longer what its `config.json` says.
    """

    def on_start(self, run: RunDirectory, trainer: Trainer) -> None:
        """The run begins, or goes on: `trainer.step` says from where."""

    def on_iteration(
        self, trainer: Trainer, metrics: dict[str, Any], episodes: list[Episode]
    ) -> None:
        """An iteration is over: its line of `metrics.jsonl`, and the episodes that ended in it.

        It comes before the checkpoint that may stand at this step.
        """

    def on_end(self, run: RunDirectory, trainer: Trainer) -> None:
        """The run is finished, interrupted or has failed; not called if `on_start` failed."""
