"""One run: the training loop, its directory on disk, and what can be done with it."""

from rle.runs.callbacks import Callback
from rle.runs.directory import RunDirectory
from rle.runs.evaluate import Evaluation, evaluate, trajectories
from rle.runs.loading import load
from rle.runs.train import resume, train, train_config

__all__ = [
    "Callback",
    "Evaluation",
    "RunDirectory",
    "evaluate",
    "load",
    "resume",
    "train",
    "train_config",
    "trajectories",
]
