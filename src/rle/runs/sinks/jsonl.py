"""The run directory's own log: metrics and episodes, line by line. Every run has it."""

from __future__ import annotations

from typing import Any

from rle.runs.callbacks import Callback
from rle.runs.directory import EPISODES, METRICS, RunDirectory
from rle.runs.episodes import Episode
from rle.runs.logs import Log
from rle.runs.manifest import Mark
from rle.runs.trainer import Trainer


class JsonLines(Callback):
    """Appends to `metrics.jsonl` and `episodes.jsonl`."""

    def on_start(self, run: RunDirectory, trainer: Trainer) -> None:
        self._metrics = Log(run.path / METRICS)
        self._episodes = Log(run.path / EPISODES)

    def on_iteration(
        self, trainer: Trainer, metrics: dict[str, Any], episodes: list[Episode]
    ) -> None:
        config = trainer.config
        first_step = metrics["step"] - config.batch_size
        # Episodes first: a reader that sees an iteration's metrics also finds its episodes.
        self._episodes.write(
            *(
                {
                    "iteration": metrics["iteration"],
                    "step": first_step + (episode.row + 1) * config.environment.num_envs,
                    "env": episode.env,
                    "score": episode.score,
                    "length": episode.length,
                }
                for episode in episodes
            )
        )
        self._metrics.write(metrics)

    def marks(self) -> dict[str, Mark]:
        """What the logs now are, which is then on the disk."""
        return {EPISODES: self._episodes.mark(), METRICS: self._metrics.mark()}

    def on_end(self, run: RunDirectory, trainer: Trainer) -> None:
        self._metrics.close()
        self._episodes.close()
