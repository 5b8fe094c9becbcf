"""What a table of settings is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

Settings = Mapping[str, Any]
"""Dotted setting names and their values."""


class Tables(NamedTuple):
    """A suite's numbers: the learner's, then each strategy's, later tables winning."""

    learner: Settings
    strategies: tuple[Mapping[str, Settings], ...]


class Presets(NamedTuple):
    """A suite's tables, and by which names they are chosen."""

    tables: Callable[[str, str], Tables]
    """Of a task's name within the suite, and a preset's."""
    names: tuple[str, ...] = ("paper", "released")
    default: str = "paper"
