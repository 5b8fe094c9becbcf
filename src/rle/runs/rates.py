"""How fast this machine trains, as `rle bench` last measured it."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path


@dataclass(frozen=True)
class RecordedRate:
    """RLE's training speed on one task, with one preset."""

    steps_per_second: float
    cores: float
    """How many one run kept busy, on average."""


def _file() -> Path:
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache) / "rle" / "rates.json"


def _suite(task: str) -> str:
    head, slash, _ = task.partition("/")
    return head if slash else task.partition("-")[0]


def _all() -> dict[str, dict[str, float]]:
    try:
        found: dict[str, dict[str, float]] = json.loads(_file().read_text())
    except (OSError, ValueError):
        return {}
    return found


def record_rate(task: str, preset: str, rate: RecordedRate) -> None:
    """Keep a measurement for `rle list studies`; a cache that cannot be written is done without."""
    rates = _all()
    key = f"{task} {preset}"
    # The latest comes last.
    rates.pop(key, None)
    rates[key] = asdict(rate)
    try:
        _file().parent.mkdir(parents=True, exist_ok=True)
        _file().write_text(json.dumps(rates, indent=2))
    except OSError:
        pass


def recorded_rate(task: str, preset: str) -> tuple[str, RecordedRate] | None:
    """The last measurement on this machine of the task or else of one of its suite, and of which."""
    measured: dict[str, RecordedRate] = {}
    for key, found in _all().items():
        other, _, other_preset = key.partition(" ")
        if _suite(other) == _suite(task) and other_preset == preset:
            try:
                measured[other] = RecordedRate(**found)
            except TypeError:
                continue
    if not measured:
        return None
    nearest = task if task in measured else list(measured)[-1]
    return nearest, measured[nearest]
