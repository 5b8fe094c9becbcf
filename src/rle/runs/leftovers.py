"""What a killed process leaves in a run directory: recognised as ours, and removed."""

from __future__ import annotations

from pathlib import Path

from rle.runs.checkpoints import ARTEFACTS, CHECKPOINTS
from rle.runs.contents import (
    CHANGES,
    CONFIG,
    FINISHED,
    INCIDENTS,
    INITIAL,
    LOCK,
    META,
    SPEC,
)
from rle.runs.files import PARTIAL, remove_leftover
from rle.runs.logs import LOGS
from rle.runs.manifest import MANIFEST

_OURS = (CONFIG, META, SPEC, FINISHED, CHANGES, INCIDENTS, INITIAL, MANIFEST, *LOGS)
_EARLIER = tuple(f"{name.partition('.')[0]}{PARTIAL}" for name in (INITIAL, *LOGS))
"""What files were called while earlier versions wrote them."""
_PARTIAL = (*(name + PARTIAL for name in _OURS), *_EARLIER)
_BEGUN = (MANIFEST, INITIAL)
"""What is written before the configuration is."""


def is_killed_start(path: Path) -> bool:
    """Whether a folder is empty, but for what a run leaves that was killed as it began."""
    return path.is_dir() and all(map(_is_leftover, path.iterdir()))


def _is_leftover(entry: Path) -> bool:
    if entry.name in (CHECKPOINTS, ARTEFACTS):
        return entry.is_dir() and not any(entry.iterdir())
    return entry.name in (LOCK, *_BEGUN, *_PARTIAL) and not entry.is_dir()


def clear_killed_start(path: Path) -> None:
    """Remove what `is_killed_start` recognises, but for its lock."""
    clear_partial(path)
    for name in _BEGUN:
        (path / name).unlink(missing_ok=True)


def clear_partial(path: Path) -> None:
    """Remove what a killed process was still writing."""
    for name in _PARTIAL:
        remove_leftover(path / name)
    for folder in (CHECKPOINTS, ARTEFACTS):
        if not (path / folder).is_symlink():
            for partial in (path / folder).glob(f"*{PARTIAL}"):
                remove_leftover(partial)
