"""What a table of settings is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

Settings = Mapping[str, Any]
"""Dotted setting names and their values."""


class Tables(NamedTuple):
    """A suite's numbers: the learner's, then each strategy's, later tables winning."""

    learner: Settings
    strategies: tuple[Mapping[str, Settings], ...]
