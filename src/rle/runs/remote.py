"""Run directories at an address that is no folder: `s3://…`, `gs://…`, whatever fsspec opens.

A run is trained in a folder of the machine it runs on, and brought to its address in an order in which
what stands there can be gone on with at any moment: logs, then checkpoints, then the manifest with the
SHA-256 of each, then the rest. A checkpoint that the manifest there does not know has not arrived.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeGuard

from rle.errors import UsageError
from rle.runs.checkpoints import ARTEFACTS, CHECKPOINTS
from rle.runs.contents import FINISHED, LOCK
from rle.runs.files import PARTIAL
from rle.runs.logs import LOGS, METRICS
from rle.runs.manifest import MANIFEST, Manifest

_LARGE = (f"{CHECKPOINTS}/", f"{ARTEFACTS}/")


def is_address(place: object) -> TypeGuard[str]:
    """Whether it is `protocol://…`, and no folder."""
    return isinstance(place, str) and "://" in place


def place(text: str) -> Path | str:
    """An address as it is, anything else as a path."""
    return text if is_address(text) else Path(text)


class Store:
    """Files below an address, by their names."""

    def __init__(self, address: str) -> None:
        self.address = address.rstrip("/")
        self._files, self._root = _opened(address)
        self._known: dict[str, tuple[int, int]] = {}
        """Length and time of the files that are there as they are here, by their names there."""

    def names(self, folder: str = "") -> list[str]:
        """All files below a folder, by their names in it."""
        at = f"{self._root}/{folder}".rstrip("/")
        self._files.invalidate_cache()
        try:
            found = self._files.find(at)
        except FileNotFoundError:
            return []
        return [path[len(at) :].lstrip("/") for path in found if not path.endswith(PARTIAL)]

    def get(self, name: str, into: Path) -> bool:
        """Bring one file here, with the time at which it was written; False if there is none."""
        into.parent.mkdir(parents=True, exist_ok=True)
        there = f"{self._root}/{name}"
        try:
            written = self._files.modified(there).timestamp()
            self._files.get_file(there, str(into))
        except FileNotFoundError:
            return False
        os.utime(into, (written, written))
        return True

    def put(self, local: Path, name: str) -> None:
        """Bring one file there: whoever looks finds what was there before, or all of it."""
        there = f"{self._root}/{name}"
        self._files.makedirs(there.rpartition("/")[0], exist_ok=True)
        self._files.put_file(str(local), there + PARTIAL)
        self._files.mv(there + PARTIAL, there)

    def remove(self, name: str) -> None:
        """Let a file be there no more, if it was."""
        try:
            self._files.rm_file(f"{self._root}/{name}")
        except FileNotFoundError:
            return

    def download(self, folder: str, run: Path) -> None:
        """Bring a run here, to go on with it; what has not arrived there as a whole stays."""
        if not self.get(f"{folder}/{MANIFEST}", run / MANIFEST):
            return
        arrived = Manifest.read(run).files
        for name in self.names(folder):
            if name != MANIFEST and (name in arrived or not name.startswith(_LARGE)):
                self.get(f"{folder}/{name}", run / name)
                self._known[f"{folder}/{name}"] = _state(run / name)

    def upload(self, run: Path, folder: str) -> None:
        """Bring what has changed of a run there; what is gone here is removed last."""
        held = {path.relative_to(run).as_posix(): path for path in run.rglob("*") if path.is_file()}
        for name in sorted(held, key=_turn):
            if name != LOCK and not name.endswith(PARTIAL):
                self._put_if_changed(held[name], f"{folder}/{name}")
        for name in [name for name in self._known if name.startswith(f"{folder}/")]:
            if name.removeprefix(f"{folder}/") not in held:
                self.remove(name)
                del self._known[name]

    def upload_metrics(self, run: Path, folder: str) -> None:
        """Let others see that a run goes on."""
        if (run / METRICS).exists():
            self._put_if_changed(run / METRICS, f"{folder}/{METRICS}")

    def _put_if_changed(self, local: Path, name: str) -> None:
        state = _state(local)
        if self._known.get(name) != state:
            self.put(local, name)
            self._known[name] = state

    def copy(self, into: Path, wanted: Callable[[str], bool] = lambda _: True) -> None:
        """Bring all files here whose names are `wanted`."""
        for name in filter(wanted, self.names()):
            self.get(name, into / name)


def is_small(name: str) -> bool:
    """Whether a file of a study says how far a run is, and is not what it goes on from."""
    return not any(f"/{part}" in f"/{name}" for part in _LARGE)


def _state(path: Path) -> tuple[int, int]:
    found = path.stat()
    return found.st_size, found.st_mtime_ns


def _turn(name: str) -> int:
    """Where a file stands in the order in which a run is brought to its address."""
    order: Iterable[bool] = (
        name in LOGS,
        name.startswith(_LARGE),
        name == MANIFEST,
        name != FINISHED,
        True,
    )
    return list(order).index(True)


def _opened(address: str) -> tuple[Any, str]:
    """The file system of an address, and the place in it."""
    # Part of PyTorch's own installation.
    import fsspec

    try:
        files, root = fsspec.core.url_to_fs(address)
    except ImportError as error:
        raise UsageError(
            f"{address} cannot be opened ({error}): pip install 'random-latent-exploration[remote]', or "
            "the package that it names."
        ) from error
    except ValueError as error:
        raise UsageError(
            f"{address} cannot be opened ({error}): give a folder, or an address such as s3://bucket/name."
        ) from error
    return files, root.rstrip("/")
