"""How fast this machine trains, as `rle bench` last measured it."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path


@dataclass(frozen=True)
class RecordedRate:
    """RLE's training speed on one suite, with one preset."""

    steps_per_second: float
    threads: int
    """Cores that one run kept busy."""


def _file() -> Path:
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache) / "rle" / "rates.json"


def _key(task: str, preset: str) -> str:
    """Tasks of one suite cost about the same: `atari/Alien` stands for `atari/Pong`."""
    head, slash, _ = task.partition("/")
    return f"{head if slash else task.partition('-')[0]} {preset}"


def _all() -> dict[str, dict[str, float]]:
    try:
        found: dict[str, dict[str, float]] = json.loads(_file().read_text())
    except (OSError, ValueError):
        return {}
    return found


def record_rate(task: str, preset: str, rate: RecordedRate) -> None:
    """Keep a measurement for `rle list studies`; a cache that cannot be written is done without."""
    rates = _all() | {_key(task, preset): asdict(rate)}
    try:
        _file().parent.mkdir(parents=True, exist_ok=True)
        _file().write_text(json.dumps(rates, indent=2))
    except OSError:
        pass


def recorded_rate(task: str, preset: str) -> RecordedRate | None:
    """The last measurement of the task's suite and preset on this machine."""
    found = _all().get(_key(task, preset))
    try:
        return None if found is None else RecordedRate(**found)  # type: ignore[arg-type]
    except TypeError:
        return None
