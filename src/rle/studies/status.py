"""How far a study is, from its files alone: on any machine that sees its folder, and without PyTorch."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from rle.runs.checkpoints import Checkpoints
from rle.runs.directory import LOCK, METRICS, RunDirectory, require_folder
from rle.runs.files import is_held
from rle.runs.logs import last_metrics, recent_metrics
from rle.runs.remote import is_address
from rle.studies.folder import GIVEN_UP, last_words, log_of, recorded_runs
from rle.studies.mirror import mirrored

STATES = ("done", "running", "failed", "interrupted", "missing")
RECENT_SECONDS = 60.0
"""A run that has logged something since is running, though its lock may not be seen from here."""


@dataclass(frozen=True)
class RunStatus:
    """One run of a study."""

    folder: str
    state: str
    """One of `STATES`."""
    step: int
    total_steps: int
    steps_per_second: float = 0.0
    """Of a run that is running."""
    log: Path | str | None = None
    """What a run that failed has to say."""


@dataclass(frozen=True)
class StudyStatus:
    """All runs of a study. As a text, what people want to know of them."""

    path: Path | str
    """A folder, or an address."""
    runs: tuple[RunStatus, ...]

    @property
    def counts(self) -> dict[str, int]:
        """How many runs are in each of `STATES`."""
        found = Counter(run.state for run in self.runs)
        return {state: found[state] for state in STATES}

    @property
    def steps(self) -> int:
        """Agent steps made, over all runs."""
        return sum(run.step for run in self.runs)

    @property
    def steps_left(self) -> int:
        """Agent steps that are still to be made; none of a run that was stopped early."""
        return sum(run.total_steps - run.step for run in self.runs if run.state != "done")

    @property
    def steps_per_second(self) -> float:
        """Of all that are running, together."""
        return sum(run.steps_per_second for run in self.runs)

    @property
    def seconds_left(self) -> float | None:
        """Until all is done at the present rate; None if nothing can be said."""
        if self.steps_left == 0:
            return 0.0
        return self.steps_left / self.steps_per_second if self.steps_per_second else None

    def __str__(self) -> str:
        counts = ", ".join(f"{number} {state}" for state, number in self.counts.items())
        total = self.steps + self.steps_left
        lines = [
            f"{self.path}: {len(self.runs)} runs: {counts}",
            f"{self.steps:,} of {total:,} steps, {self.steps_per_second:,.0f} steps/s, "
            f"{_duration(self.seconds_left)}",
        ]
        for run in self.runs:
            if run.state in ("running", "failed"):
                lines.append(f"{run.state:8} {run.folder}  {_detail(run)}")
        return "\n".join(lines)


def study_status(path: Path | str) -> StudyStatus:
    """What is done of the study in a folder, or at an address; what is running, what has failed.

    Raises:
        UsageError: no study was trained in this folder.

    """
    if is_address(path):
        with mirrored(path) as folder:
            return _all(folder, path.rstrip("/"))
    folder = Path(path)
    require_folder(folder)
    return _all(folder, folder)


def _all(folder: Path, place: Path | str) -> StudyStatus:
    """Of the study that `folder` shows, and that is at `place`."""
    runs = recorded_runs(folder)
    return StudyStatus(place, tuple(_status(folder, place, *run) for run in runs.items()))


def _status(out: Path, place: Path | str, folder: str, total: int) -> RunStatus:
    path = out / folder
    saved = max(Checkpoints(path).steps(), default=0)
    step = min(max(last_metrics(path).get("step", 0), saved), total)
    # One that goes on for longer has made the study's steps.
    if saved >= total or RunDirectory(path).finished() is not None:
        return RunStatus(folder, "done", step, total)
    words = last_words(path)
    if words and words[-1] == GIVEN_UP and not is_held(path / LOCK):
        log = log_of(path) if place == out else f"{place}/{log_of(Path(folder)).as_posix()}"
        return RunStatus(folder, "failed", step, total, log=log)
    if is_held(path / LOCK) or _is_growing(path):
        return RunStatus(folder, "running", step, total, _rate(path))
    return RunStatus(folder, "interrupted" if step > 0 else "missing", step, total)


def _is_growing(path: Path) -> bool:
    try:
        return time.time() - (path / METRICS).stat().st_mtime < RECENT_SECONDS
    except OSError:
        return False


def _rate(path: Path) -> float:
    """Steps per second over the last lines that a run has logged without a break."""
    lines = recent_metrics(path)
    since = [line["seconds"] for line in lines if isinstance(line.get("seconds"), int | float)]
    if len(since) < len(lines) or len(lines) < 2:
        return 0.0
    # A run that went on counts its seconds anew.
    first = max((i for i in range(1, len(since)) if since[i] < since[i - 1]), default=0)
    seconds = since[-1] - since[first]
    return (lines[-1]["step"] - lines[first]["step"]) / seconds if seconds > 0 else 0.0


def _detail(run: RunStatus) -> str:
    if run.log is not None:
        return f"see {run.log}"
    return f"{run.step:,} of {run.total_steps:,} steps, {run.steps_per_second:,.0f} steps/s"


def _duration(seconds: float | None) -> str:
    if seconds is None:
        return "time left unknown, as nothing is seen to go on"
    for unit, size in (("days", 86_400), ("hours", 3_600), ("minutes", 60)):
        if seconds >= 2 * size:
            return f"about {seconds / size:.1f} {unit} left"
    return f"about {seconds:.0f} s left"
