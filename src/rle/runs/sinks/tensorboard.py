"""TensorBoard events, in the run directory's folder `tensorboard` (extra: tensorboard)."""

from __future__ import annotations

from typing import Any

from torch.utils.tensorboard import SummaryWriter

from rle.config import RunConfig
from rle.runs.callbacks import Callback
from rle.runs.directory import RunDirectory
from rle.runs.episodes import Episode
from rle.runs.trainer import Trainer


class TensorBoardSink(Callback):
    """Writes every metric as a scalar over steps."""

    def __init__(self, run: RunDirectory, config: RunConfig) -> None:
        self._folder = str(run.path / "tensorboard")

    def on_start(self, run: RunDirectory, trainer: Trainer) -> None:
        # What an interrupted run logged after its checkpoint is hidden, not drawn twice.
        self._writer: Any = SummaryWriter(self._folder, purge_step=trainer.step + 1)

    def on_iteration(
        self, trainer: Trainer, metrics: dict[str, Any], episodes: list[Episode]
    ) -> None:
        for name, value in metrics.items():
            if name not in ("iteration", "step"):
                self._writer.add_scalar(name, value, metrics["step"])

    def on_end(self, run: RunDirectory, trainer: Trainer) -> None:
        self._writer.close()
