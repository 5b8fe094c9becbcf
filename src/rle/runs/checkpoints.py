"""The checkpoints of a run, and the suite's own data of the same moments."""

from __future__ import annotations

import json
import math
import re
import struct
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from rle.errors import UsageError
from rle.runs.files import (
    ASIDE,
    DamagedFileError,
    partial_of,
    reading,
    require_no_link,
    settle,
    stage,
)
from rle.runs.manifest import Manifest, Mark

if TYPE_CHECKING:
    from torch import Tensor

    from rle.tasks.base import State

CHECKPOINTS = "checkpoints"
ARTEFACTS = "artefacts"
_NAME = re.compile(r"\d{12,18}\.safetensors")


class Loaded(NamedTuple):
    """The latest checkpoint that is good."""

    step: int
    state: State
    damaged: dict[int, str]
    """Those after it, by their steps, and what is wrong with each."""

    def sentence(self) -> str | None:
        """What to say of the damaged ones."""
        if not self.damaged:
            return None
        latest = max(self.damaged)
        more = "" if len(self.damaged) == 1 else f", as are {len(self.damaged) - 1} before it"
        return (
            f"the checkpoint at step {latest:,} is damaged ({self.damaged[latest]}){more}: the one at "
            f"step {self.step:,} is used instead."
        )


@dataclass(frozen=True)
class Saved:
    """How a checkpoint is to be kept."""

    passing: bool = False
    """Whether the next one takes its place."""
    score: float | None = None
    """What the agent scores."""
    keep: int = 0
    """So many of the last, and the best, stay; 0: all that are not passing."""


class Checkpoints:
    """The checkpoints of the run at `path`."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def steps(self, folder: str = CHECKPOINTS) -> list[int]:
        """Steps at which there are some, ascending."""
        try:
            names = [entry.name for entry in (self.path / folder).iterdir()]
        except OSError:
            return []
        return sorted(int(name.partition(".")[0]) for name in names if _NAME.fullmatch(name))

    def any(self) -> bool:
        """Whether some were written that should be there."""
        return bool(self.steps() or self.lost())

    def file(self, step: int, folder: str = CHECKPOINTS) -> Path:
        """Where the file of `step` is."""
        return self.path / checkpoint_name(step, folder)

    # Tensors need PyTorch; which checkpoints there are can be said without.

    def save(
        self,
        step: int,
        state: State,
        artefacts: Mapping[str, Tensor],
        logs: Mapping[str, Mark],
        how: Saved,
    ) -> None:
        """Write a checkpoint and the suite's own data of the same moment; `logs` are on the disk."""
        from rle.runs.state import state_bytes

        parts = {ARTEFACTS: dict(artefacts)} if artefacts else {}
        paths, marks = [], {}
        for folder, tree in (parts | {CHECKPOINTS: state}).items():
            self._make(folder)
            data = state_bytes(tree)
            stage(self.file(step, folder), data)
            marks[checkpoint_name(step, folder)] = Mark.of(data, how.passing, how.score)
            paths.append(self.file(step, folder))
        manifest = Manifest.read(self.path)
        manifest.forget(self.gone(manifest))
        manifest.announce(marks)
        manifest.grown(logs)
        manifest.write()
        settle(*paths)
        for doomed in self._superfluous(step, manifest, how.keep):
            for folder in (CHECKPOINTS, ARTEFACTS):
                self.file(doomed, folder).unlink(missing_ok=True)

    def _make(self, folder: str) -> None:
        require_no_link(self.path / folder)
        try:
            (self.path / folder).mkdir(exist_ok=True)
        except FileExistsError as error:
            raise UsageError(
                f"{self.path / folder} is no folder, where checkpoints go: remove it."
            ) from error

    def gone(self, manifest: Manifest) -> list[str]:
        """The names that the manifest knows and that are no more: removed by us, or by somebody."""
        kept = [name for name in manifest.files if name.startswith((CHECKPOINTS, ARTEFACTS))]
        return [name for name in kept if not (self.path / name).exists()]

    def lost(self, folder: str = CHECKPOINTS) -> set[int]:
        """Steps whose files somebody removed: we remove none that is later than all others.

        One that was announced and never took its place is still beside it, under its other name.
        """
        latest = max(self.steps(folder), default=-1)
        names = (Path(name) for name in self.gone(Manifest.read(self.path)))
        steps = {
            int(name.stem)
            for name in names
            if name.parent.name == folder
            and _NAME.fullmatch(name.name)
            and not partial_of(self.path / name).exists()
        }
        return {step for step in steps if step > latest}

    def _superfluous(self, newest: int, manifest: Manifest, keep: int) -> set[int]:
        """The steps whose checkpoints need not stay."""
        known = {step: manifest.mark(checkpoint_name(step)) for step in self.steps()}
        before = [step for step in known if step < newest]
        passing = {step for step in before if (mark := known[step]) is not None and mark.passing}
        if not keep:
            return passing
        old = set(before[: max(len(known) - keep, 0)])
        scores = {step: mark.score for step, mark in known.items() if mark is not None}
        scored = [(s, step) for step, s in scores.items() if s is not None and math.isfinite(s)]
        best = {max(scored)[1]} if scored else set()
        return (passing | old) - best

    def check(self, step: int, folder: str = CHECKPOINTS) -> None:
        """Raise `DamagedFileError` unless the file of `step` is as it was written.

        Of earlier versions only what its beginning says of its length is known.
        """
        name = checkpoint_name(step, folder)
        manifest = Manifest.read(self.path)
        manifest.check_file(name)
        if manifest.mark(name) is None:
            _check_length(self.path / name)

    def load(
        self, step: int, only: Collection[str] = (), folder: str = CHECKPOINTS
    ) -> dict[str, Any]:
        """What was saved at `step`; raises `DamagedFileError` if it is something else."""
        self.check(step, folder)
        from rle.runs.state import load_state

        return load_state(self.file(step, folder), only)

    def load_latest(self, only: Collection[str] = (), folder: str = CHECKPOINTS) -> Loaded:
        """The latest that is good."""
        return Loaded(*self._latest(lambda step: self.load(step, only, folder), folder))

    def latest(self) -> int:
        """The step of the latest that is good, without loading it."""
        return self._latest(self.check, CHECKPOINTS)[0]

    def _latest(self, use: Callable[[int], Any], folder: str) -> tuple[int, Any, dict[int, str]]:
        damaged: dict[int, str] = {}
        for step in sorted({*self.steps(folder), *self.lost(folder)}, reverse=True):
            try:
                return step, use(step), damaged
            except DamagedFileError as error:
                damaged[step] = error.why
        if not damaged:
            raise UsageError(f"{self.path} has no checkpoint: train it again from the start.")
        raise DamagedFileError(
            self.path / folder,
            f"none of its {len(damaged)} checkpoints is good; the latest: {damaged[max(damaged)]}",
            "train the run again, or let `rle resume` do so.",
        )

    def set_aside(self, steps: Collection[int]) -> None:
        """Give damaged checkpoints another name: they may tell somebody what happened."""
        for step in steps:
            file = self.file(step)
            file.rename(file.with_name(file.name + ASIDE))

    def drop_after(self, step: int) -> None:
        """Remove what was saved after `step`: it will be saved again."""
        for folder in (CHECKPOINTS, ARTEFACTS):
            for later in self.steps(folder):
                if later > step:
                    self.file(later, folder).unlink()


def checkpoint_name(step: int, folder: str = CHECKPOINTS) -> str:
    """What the file of `step` is called in the run directory."""
    return f"{folder}/{step:012d}.safetensors"


def _check_length(path: Path) -> None:
    """Raise `DamagedFileError` unless a safetensors file is as long as it says."""
    with reading(path) as file:
        start = file.read(8)
        size = path.stat().st_size
        length = struct.unpack("<Q", start)[0] if len(start) == 8 else size
        if length > size - 8:
            raise DamagedFileError(path, "it cannot be read: it is too short")
        try:
            header = json.loads(file.read(length))
            parts = [part["data_offsets"] for name, part in header.items() if name[:2] != "__"]
            end = max((stop for _, stop in parts), default=0)
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            raise DamagedFileError(path, f"it cannot be read: {error!r}") from error
    if 8 + length + end != size:
        raise DamagedFileError(path, f"it cannot be read: it has {size} bytes")
