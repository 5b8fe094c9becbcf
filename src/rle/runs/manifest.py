"""`manifest.json`: size and SHA-256 of every file of a run, so that damage does not pass for data.

A file is announced before it takes its place, and what stood there stays valid until the next time: so
a crash between the two leaves files that are all as announced. Only the process that trains a run
writes it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rle.runs.files import (
    DamagedFileError,
    digest_of,
    digest_of_file,
    read_json,
    reading,
    write_json,
)

MANIFEST = "manifest.json"


@dataclass(frozen=True)
class Mark:
    """What a file was when it was written; of a log, what its first bytes were."""

    size: int
    """Bytes."""
    sha256: str
    passing: bool = False
    """Of a checkpoint: that the next one takes its place."""
    score: float | None = None
    """Of a checkpoint: what the agent scored when it was written."""

    @classmethod
    def of(cls, data: bytes, passing: bool = False, score: float | None = None) -> Mark:
        return cls(len(data), digest_of(data), passing, score)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Mark:
        more = (values.get("passing", False), values.get("score"))
        return cls(values["bytes"], values["sha256"], *more)

    def to_dict(self) -> dict[str, Any]:
        more = {"passing": True} if self.passing else {}
        scored = {} if self.score is None else {"score": self.score}
        return {"bytes": self.size, "sha256": self.sha256} | more | scored


@dataclass
class Manifest:
    """The marks of a run's files, by their names in the run directory, the newest first."""

    folder: Path
    files: dict[str, tuple[Mark, ...]] = field(default_factory=dict)
    problem: str | None = None
    """Why files cannot be compared with it, in a sentence; also None where there is none."""

    @classmethod
    def read(cls, folder: Path) -> Manifest:
        """The manifest of a run; empty if there is none, or if it is damaged itself."""
        path = folder / MANIFEST
        if not path.exists():
            return cls(folder)
        try:
            values = read_json(path)
            files = values["files"]
            if values["sha256"] != _own_digest(files):
                raise DamagedFileError(path, "its SHA-256 is not its own")
            marks = {name: tuple(map(Mark.from_dict, files[name])) for name in files}
        except DamagedFileError as error:
            return cls(folder, problem=_unchecked(path, error.why))
        except (KeyError, TypeError, AttributeError) as error:
            return cls(folder, problem=_unchecked(path, f"{error!r}"))
        return cls(folder, marks)

    def check(self, name: str, data: bytes) -> None:
        """Raise `DamagedFileError` if the file of that name is known and `data` is not it."""
        self._require(name, len(data), lambda: digest_of(data))

    def check_file(self, name: str) -> None:
        """The same of the file itself, read piece by piece."""
        path = self.folder / name
        try:
            size = path.stat().st_size
        except OSError as error:
            raise DamagedFileError(path, error.strerror or error) from error
        self._require(name, size, lambda: digest_of_file(path))

    def _require(self, name: str, size: int, digest: Callable[[], str]) -> None:
        known = self.files.get(name)
        if not known:
            return
        # A file of another length need not be read.
        if not any(mark.size == size for mark in known):
            sizes = " or ".join(str(mark.size) for mark in known)
            raise DamagedFileError(self.folder / name, f"it has {size} bytes and had {sizes}")
        found = digest()
        if not any(mark.sha256 == found for mark in known):
            raise DamagedFileError(self.folder / name, f"its SHA-256 is not the one in {MANIFEST}")

    def check_log(self, name: str, data: bytes) -> str | None:
        """What is wrong with a log that holds `data`; None if it begins as it is known to."""
        known = self.files.get(name)
        if not known or any(digest_of(data[: mark.size]) == mark.sha256 for mark in known):
            return None
        least = min(mark.size for mark in known)
        if len(data) < least:
            return f"{name} is not as the run wrote it: it has {len(data):,} of {least:,} bytes."
        return f"{name} is not as the run wrote it: its SHA-256 is not the one in {MANIFEST}."

    def mark(self, name: str) -> Mark | None:
        """The newest mark of a file."""
        known = self.files.get(name)
        return known[0] if known else None

    def announce(self, marks: Mapping[str, Mark]) -> None:
        """Let files become `marks`; what they were before stays valid until they are next written."""
        for name, mark in marks.items():
            # Not simply the newest: that may have been announced by a process that was killed then.
            before = [old for old in self.files.get(name, ()) if self._is_there(name, old)]
            self.files[name] = (mark, *(old for old in before if old != mark))

    def _is_there(self, name: str, mark: Mark) -> bool:
        """Whether a file is, or a log begins, as `mark` says."""
        try:
            with reading(self.folder / name) as file:
                return digest_of(file.read(mark.size)) == mark.sha256
        except DamagedFileError:
            return False

    def grown(self, marks: Mapping[str, Mark]) -> None:
        """Logs have become longer: what they were before is less than they must now be."""
        self.files |= {name: (mark,) for name, mark in marks.items()}

    def forget(self, names: Iterable[str]) -> None:
        """Files are no more."""
        for name in names:
            self.files.pop(name, None)

    def write(self) -> None:
        """Bring the manifest to the disk."""
        files = {name: [mark.to_dict() for mark in marks] for name, marks in self.files.items()}
        write_json(self.folder / MANIFEST, {"files": files, "sha256": _own_digest(files)})
        self.problem = None


def _own_digest(files: Any) -> str:
    return digest_of(json.dumps(files, sort_keys=True).encode("utf-8"))


def _unchecked(path: Path, why: str) -> str:
    return f"{path} is damaged ({why}): whether the other files are as they were cannot be told."
