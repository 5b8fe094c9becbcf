"""Where an iteration's numbers go: the run directory always, TensorBoard if asked."""

from __future__ import annotations

import json
from typing import Any

from rle.errors import UsageError
from rle.runs.directory import EPISODES, METRICS, RunDirectory
from rle.runs.episodes import Episode


class RunLogger:
    """Appends metrics and episodes line by line."""

    def __init__(self, run: RunDirectory, first_step: int = 0, tensorboard: bool = False) -> None:
        self._writer: Any = None
        if tensorboard:
            # What an interrupted run logged after its checkpoint is hidden, not drawn twice.
            self._writer = load_tensorboard()(
                str(run.path / "tensorboard"), purge_step=first_step + 1
            )
        self._metrics = (run.path / METRICS).open("a", encoding="utf-8")
        self._episodes = (run.path / EPISODES).open("a", encoding="utf-8")

    def write(
        self, metrics: dict[str, Any], episodes: list[Episode], first_step: int, num_envs: int
    ) -> None:
        """Log one iteration; `first_step` is the number of agent steps made before it."""
        # Episodes first: a reader that sees an iteration's metrics also finds its episodes.
        for episode in episodes:
            line = {
                "iteration": metrics["iteration"],
                "step": first_step + (episode.row + 1) * num_envs,
                "env": episode.env,
                "score": episode.score,
                "length": episode.length,
            }
            self._episodes.write(json.dumps(line) + "\n")
        self._episodes.flush()
        self._metrics.write(json.dumps(metrics) + "\n")
        self._metrics.flush()
        if self._writer is not None:
            for name, value in metrics.items():
                if name not in ("iteration", "step"):
                    self._writer.add_scalar(name, value, metrics["step"])

    def close(self) -> None:
        """Close every file."""
        self._metrics.close()
        self._episodes.close()
        if self._writer is not None:
            self._writer.close()


def load_tensorboard() -> Any:
    """TensorBoard's writer class."""
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError as error:
        raise UsageError(
            "TensorBoard is not installed: pip install 'random-latent-exploration[tensorboard]'."
        ) from error
    return SummaryWriter
