"""Tasks in front of a camera: the experience an agent was trained on, with pictures of it."""

from __future__ import annotations

from rle.config import EnvironmentConfig
from rle.tasks.film.stage import Filmed, FilmedTask

__all__ = ["Filmed", "filmed"]


def filmed(task: str, config: EnvironmentConfig) -> Filmed:
    """The environment of `task`, to be filmed."""
    if task.startswith("atari/"):
        from rle.tasks.film.game import FilmedGame

        return FilmedGame(task.removeprefix("atari/"), config)
    return FilmedTask(task, config)
