"""What stands in a study's folder beside its runs: what they say, and which there are to be."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from pathlib import Path

from rle.checks import require, short
from rle.naming import is_file
from rle.runs.files import DamagedFileError, holding, read_json, write_json

RECORD = "study.json"
RECORD_LOCK = "study.lock"
"""Held for the moment in which `RECORD` is written."""
SCHEMA = 1
"""Counts the ways in which `RECORD` has been laid out."""
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


def recorded_runs(out: Path) -> dict[str, int]:
    """Folder and steps of every run that a study in `out` was asked for, in their order.

    Raises:
        UsageError: there is no such record, or it is damaged or of a newer version.

    """
    path = out / RECORD
    require(
        is_file(path),
        f"{out} is not a study's folder (it has no {RECORD}): give the one that `rle study` trains in.",
    )
    held = read_json(path)
    require(
        held.get("schema") == SCHEMA,
        f"{path} has the schema {short(repr(held.get('schema')))}, and this version of the program "
        f"knows {SCHEMA}: use the version that wrote it.",
    )
    runs = held.get("runs")
    if not isinstance(runs, dict) or not all(isinstance(steps, int) for steps in runs.values()):
        raise DamagedFileError(path, "it names no runs", "start the study again to write it anew.")
    return runs


def record_runs(out: Path, totals: Mapping[str, int]) -> None:
    """Add runs, each with its steps, to the record of the study in `out`.

    Several processes may do so at once, none of which loses what another asked for.
    """
    with holding(out / RECORD_LOCK, refusal=None):
        found = _runs_so_far(out)
        if not totals.items() <= found.items():
            write_json(out / RECORD, {"schema": SCHEMA, "runs": found | dict(totals)})


def _runs_so_far(out: Path) -> dict[str, int]:
    try:
        return recorded_runs(out) if is_file(out / RECORD) else {}
    except DamagedFileError:
        return {}
