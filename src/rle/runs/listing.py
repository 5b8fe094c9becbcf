"""Runs below a folder at a glance: state, steps, score and size on disk. Without PyTorch."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rle.checks import require
from rle.errors import UsageError
from rle.runs.directory import CONFIG, LOCK, RunDirectory, require_folder
from rle.runs.files import is_held
from rle.runs.logs import LOGS, last_metrics
from rle.runs.manifest import Manifest


@dataclass(frozen=True)
class Listed:
    """One run."""

    state: str
    """finished, running, interrupted or damaged."""
    steps: str = "?"
    score: str = ""
    size: int = 0
    """Bytes."""
    problem: str = ""

    def __str__(self) -> str:
        parts = [
            f"{self.state:11}",
            f"{self.steps:>27}",
            f"{self.score:>16}",
            f"{_bytes(self.size):>8}",
        ]
        return "  ".join([*parts, self.problem]).rstrip()


def list_runs(folder: Path) -> dict[str, str]:
    """A line for each run at or below `folder`, by its name.

    Raises:
        UsageError: there is none, or none can be read.

    """
    require_folder(folder)
    found = {str(path.relative_to(folder)): _listed(path) for path in run_folders(folder)}
    require(bool(found), f"there is no run below {folder}: give a folder that `rle train` wrote.")
    unreadable = [run.problem for run in found.values() if run.steps == "?"]
    if len(unreadable) == len(found):
        raise UsageError(unreadable[0])
    return {
        (folder.resolve().name if name == "." else name): str(run) for name, run in found.items()
    }


def run_folders(root: Path) -> Iterator[Path]:
    """Every run directory at or below `root`."""
    for folder, below, files in os.walk(root):
        if CONFIG in files:
            # A run holds no other runs, and its checkpoints need not be searched.
            below.clear()
            yield Path(folder)
        below.sort()


def _listed(path: Path) -> Listed:
    run = RunDirectory(path)
    size = _size(path)
    try:
        config = run.config()
    except UsageError as error:
        return Listed("damaged", size=size, problem=str(error))
    last = last_metrics(path)
    made = max([last.get("step", 0), *run.checkpoint_steps()])
    state, problem = _state(run)
    steps = f"{made:,} of {config.total_steps:,}"
    return Listed(state, steps, _score(last.get("score")), size, problem)


def _state(run: RunDirectory) -> tuple[str, str]:
    """What has become of a run, and what is wrong with it."""
    if is_held(run.path / LOCK):
        return "running", ""
    problem = run.unchecked() or _damaged_file(run)
    if problem is not None:
        return "damaged", problem
    return "interrupted" if run.finished() is None else "finished", ""


def _damaged_file(run: RunDirectory) -> str | None:
    """A file that is damaged; of large ones only the length is looked at, as a list must be quick."""
    for name, why in run.damaged().items():
        return f"{name} is damaged ({why})."
    for name, marks in Manifest.read(run.path).files.items():
        size = _length(run.path / name)
        is_log = name in LOGS
        had = min(mark.size for mark in marks) if is_log else marks[0].size
        wrong = size < had if is_log else all(mark.size != size for mark in marks)
        # Other files may be removed, as old checkpoints are.
        if wrong and (size or is_log):
            return f"{name} is damaged (it has {size:,} bytes and had {had:,})."
    return None


def _length(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _score(value: Any) -> str:
    return f"score {value:,.2f}" if isinstance(value, int | float) else ""


def _size(path: Path) -> int:
    """Bytes of all files of a run."""
    found = [Path(folder) / name for folder, _, files in os.walk(path) for name in files]
    total = 0
    for file in found:
        # A run that is being trained removes files.
        with contextlib.suppress(OSError):
            total += file.lstat().st_size
    return total


def _bytes(size: float) -> str:
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if size < 1000 or unit == "TB":
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1000
    raise AssertionError
