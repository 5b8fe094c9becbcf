"""What stands in a study's folder beside its runs: what they say, and which there are."""

from __future__ import annotations

import contextlib
from pathlib import Path

LOG_SUFFIX = "-log.txt"
GIVEN_UP = "rle: failed for good; start the study again to try it once more"
"""The last line in the log of a run that has had all its attempts."""


def log_of(run: Path) -> Path:
    """Where a run's process writes what it prints; removed once the run is finished."""
    return run.with_name(run.name + LOG_SUFFIX)


def say_in_log(run: Path, line: str) -> None:
    """Add a line to the log of a run, if it can be written."""
    with contextlib.suppress(OSError), log_of(run).open("a", encoding="utf-8") as log:
        print(line, file=log)


def last_words(run: Path) -> list[str]:
    """The lines that a run has left in its log, without blank ones; none if there is no log."""
    try:
        lines = log_of(run).read_text(encoding="utf-8", errors="replace").split("\n")
    except OSError:
        return []
    return [line for line in lines if line.strip()]
