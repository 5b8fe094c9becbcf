"""The run directory's own log: metrics and episodes, line by line. Every run has it."""

from __future__ import annotations

import json
from typing import Any

from rle.runs.callbacks import Callback
from rle.runs.directory import EPISODES, METRICS, RunDirectory
from rle.runs.episodes import Episode
from rle.runs.trainer import Trainer


class JsonLines(Callback):
    """Appends to `metrics.jsonl` and `episodes.jsonl`."""

    def on_start(self, run: RunDirectory, trainer: Trainer) -> None:
        self._metrics = (run.path / METRICS).open("a", encoding="utf-8")
        self._episodes = (run.path / EPISODES).open("a", encoding="utf-8")

    def on_iteration(
        self, trainer: Trainer, metrics: dict[str, Any], episodes: list[Episode]
    ) -> None:
        config = trainer.config
        first_step = metrics["step"] - config.batch_size
        # Episodes first: a reader that sees an iteration's metrics also finds its episodes.
        for episode in episodes:
            line = {
                "iteration": metrics["iteration"],
                "step": first_step + (episode.row + 1) * config.environment.num_envs,
                "env": episode.env,
                "score": episode.score,
                "length": episode.length,
            }
            self._episodes.write(json.dumps(line) + "\n")
        self._episodes.flush()
        self._metrics.write(json.dumps(metrics) + "\n")
        self._metrics.flush()

    def on_end(self, run: RunDirectory, trainer: Trainer) -> None:
        self._metrics.close()
        self._episodes.close()
