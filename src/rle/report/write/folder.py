"""A report's folder: what is in it, and that nothing of anybody else's is overwritten there."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path

from rle.checks import require
from rle.naming import exists
from rle.runs.directory import make_folder
from rle.runs.files import require_no_link

PAGE = "report.html"
SUMMARY = "summary.json"
FIGURES = "figures"
TABLES = "tables"
_OF_A_SUMMARY = {"made", "tasks"}
"""What every `summary.json` of a report has."""


def make_folders(folder: Path) -> None:
    """Make what is not there."""
    for name in (FIGURES, TABLES):
        require_no_link(folder / name)
        make_folder(folder / name, "--out")


def write_files(folder: Path, files: Mapping[str, str | bytes]) -> None:
    """Write files by their names in a report's folder; one that is a link is replaced, not followed."""
    for name, content in files.items():
        path = folder / name
        if path.is_symlink():
            path.unlink()
        path.write_bytes(content.encode("utf-8") if isinstance(content, str) else content)


def require_ours(folder: Path, names: Iterable[str]) -> None:
    """Raise `UsageError` if `folder` holds one of the files `names`, and is no report's folder."""
    present = next((name for name in names if exists(folder / name)), None)
    require(
        present is None or holds_a_report(folder),
        f"{folder / str(present)} is not of a report and would be overwritten: choose another --out.",
    )


def holds_a_report(folder: Path) -> bool:
    """Whether a report was written to `folder` before."""
    try:
        summary = json.loads((folder / SUMMARY).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(summary, dict) and summary.keys() >= _OF_A_SUMMARY
