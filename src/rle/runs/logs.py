"""Logs: one JSON object per line, appended to as a run is trained; a damaged line costs no other."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from rle.runs.files import DamagedFileError, open_to_append, read_whole, reading
from rle.runs.manifest import Mark

METRICS = "metrics.jsonl"
EPISODES = "episodes.jsonl"
LOGS = (METRICS, EPISODES)
TAIL_BYTES = 16_384
WINDOW = 128
"""Scores are reported over the last 128 episodes, as in the paper's Atari evaluation."""


class Log:
    """A log that is being written. It knows its SHA-256 at any time."""

    def __init__(self, path: Path) -> None:
        self._file = open_to_append(path)
        with reading(path) as written:
            self._digest = hashlib.file_digest(written, "sha256")
            self._bytes = written.tell()

    def write(self, *lines: dict[str, Any]) -> None:
        """Append lines; whoever reads the file sees them."""
        data = b"".join(json.dumps(line).encode("utf-8") + b"\n" for line in lines)
        self._file.write(data)
        self._file.flush()
        self._digest.update(data)
        self._bytes += len(data)

    def mark(self) -> Mark:
        """What the log now is, which is then on the disk."""
        os.fsync(self._file.fileno())
        return Mark(self._bytes, self._digest.hexdigest())

    def close(self) -> None:
        self._file.close()


class Lines(NamedTuple):
    """What a log holds."""

    whole: list[tuple[bytes, dict[str, Any]]]
    """Every line that is an object, as it stands and as it is read."""
    damaged: int
    """How many lines between them are none."""
    cut_short: bool
    """Whether the last one lacks its end, as a crash leaves it."""


def parse_lines(data: bytes) -> Lines:
    """The lines of a log."""
    *complete, rest = data.split(b"\n")
    whole = [(line, value) for line in complete if (value := parse_line(line)) is not None]
    return Lines(whole, len(complete) - len(whole), bool(rest))


def parse_line(line: bytes) -> dict[str, Any] | None:
    """The object of one line, None if it is damaged."""
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict) or not isinstance(value.get("step"), int):
        return None
    return value if isinstance(value.get("iteration", 0), int) else None


def read_lines(path: Path) -> Iterator[dict[str, Any]]:
    """The objects of a JSON-lines file; a last line cut short by a crash is left out."""
    if path.exists():
        for _, value in parse_lines(read_whole(path)).whole:
            yield value


def last_metrics(run: Path) -> dict[str, Any]:
    """What a run has logged last; reads only the end of its metrics."""
    lines = _last_lines(run)
    return (parse_line(lines[-1]) if lines else None) or {}


def recent_metrics(run: Path) -> list[dict[str, Any]]:
    """What a run has logged last, in the end of its metrics; damaged lines are left out."""
    return [value for line in _last_lines(run) if (value := parse_line(line)) is not None]


def _last_lines(run: Path) -> list[bytes]:
    try:
        with reading(run / METRICS) as file:
            file.seek(0, os.SEEK_END)
            file.seek(max(file.tell() - TAIL_BYTES, 0))
            return file.read().split(b"\n")[:-1]
    except DamagedFileError:
        return []
