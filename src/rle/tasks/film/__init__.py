"""Tasks in front of a camera: the experience an agent was trained on, with pictures of it."""

from __future__ import annotations

from rle.config import EnvironmentConfig
from rle.tasks.film.stage import Filmed, FilmedTask
from rle.tasks.registry import suite_of

__all__ = ["Filmed", "filmed"]


def filmed(task: str, config: EnvironmentConfig) -> Filmed:
    """The environment of `task`, to be filmed."""
    suite, name = suite_of(task)
    return FilmedTask(task, config) if suite.film is None else suite.film(name, config)
