"""What a run directory holds beside checkpoints: used as it was written, or said to be damaged."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rle.checks import require
from rle.runs.files import (
    ASIDE,
    DamagedFileError,
    parse_object,
    read_whole,
    to_json,
    write_whole,
)
from rle.runs.logs import LOGS
from rle.runs.manifest import MANIFEST, Manifest, Mark

CONFIG = "config.json"
META = "meta.json"
SPEC = "spec.json"
FINISHED = "finished.json"
CHANGES = "changes.json"
INCIDENTS = "incidents.json"
INITIAL = "initial.safetensors"
EVALUATION = "eval.json"
LOCK = "lock"
SCHEMA = 1
"""Counts the ways in which run directories have been laid out; config.json says which it is. 0: before
there was a manifest."""
_INFORMATIVE = (META, SPEC, FINISHED, CHANGES, INCIDENTS)
"""A run can go on without these."""


@dataclass(frozen=True)
class Contents:
    """The files of one run. Those that are not needed may be damaged: `problems` says which are."""

    path: Path

    def _read(self, name: str) -> dict[str, Any]:
        data = read_whole(self.path / name)
        Manifest.read(self.path).check(name, data)
        return parse_object(self.path / name, data)

    def _read_if_good(self, name: str) -> dict[str, Any] | None:
        try:
            return self._read(name) if (self.path / name).exists() else None
        except DamagedFileError:
            return None

    def _save(self, name: str, data: bytes) -> None:
        manifest = Manifest.read(self.path)
        manifest.announce({name: Mark.of(data)})
        manifest.write()
        write_whole(self.path / name, data)

    def _save_json(self, name: str, values: Any) -> None:
        self._save(name, to_json(values))

    def unchecked(self) -> str | None:
        """Why the files of the run cannot be compared with what they were, in a sentence."""
        if self._schema() == 0 or (self.path / MANIFEST).exists():
            return Manifest.read(self.path).problem
        return f"{MANIFEST} is missing: whether the other files are as they were cannot be told."

    def damaged(self) -> dict[str, str]:
        """Files that are damaged and that the run can go on without, and what is wrong with each."""
        found = {}
        for name in _INFORMATIVE:
            try:
                if (self.path / name).exists():
                    self._read(name)
            except DamagedFileError as error:
                found[name] = error.why
        return found

    def problems(self) -> list[str]:
        """All that is wrong with files other than checkpoints, in sentences."""
        manifest, unchecked = Manifest.read(self.path), self.unchecked()
        found = [] if unchecked is None else [unchecked]
        found += [f"{name} is damaged ({why})." for name, why in self.damaged().items()]
        wrong = [manifest.check_log(name, self._log(name)) for name in LOGS]
        return found + [sentence for sentence in wrong if sentence is not None]

    def _log(self, name: str) -> bytes:
        """A whole log; one that is not there is empty."""
        try:
            return read_whole(self.path / name)
        except DamagedFileError:
            return b""

    def _schema(self) -> int:
        """How the run directory is laid out; one that is newer than this program is refused."""
        schema = parse_object(self.path / CONFIG, read_whole(self.path / CONFIG)).get("schema", 0)
        if not isinstance(schema, int):
            raise DamagedFileError(self.path / CONFIG, f"its schema is {schema!r}")
        require(
            schema <= SCHEMA,
            f"{self.path} was written by a newer version of the program (schema {schema}, and this one "
            f"knows {SCHEMA}): update `random-latent-exploration`.",
        )
        return schema

    def set_aside(self, name: str) -> None:
        """Give a damaged file another name."""
        (self.path / name).rename(self.path / (name + ASIDE))
