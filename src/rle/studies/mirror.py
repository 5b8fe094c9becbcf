"""A study at an address: a folder of this machine that shows how far its runs are, trained elsewhere."""

from __future__ import annotations

import atexit
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rle.config import RunConfig
from rle.errors import RunError, UsageError
from rle.runs.logs import METRICS
from rle.runs.remote import Store, is_small
from rle.studies.executor import Ended, Executor
from rle.studies.folder import RECORD, log_of

LOOK_SECONDS = 30.0
"""How often the metrics of runs that are going on are looked at."""


class Mirror:
    """All files of a study at `address` but checkpoints, in the folder `path` of this machine."""

    def __init__(self, address: str) -> None:
        self.store = Store(address)
        self.address = self.store.address
        self.path = Path(tempfile.mkdtemp(prefix="rle-study-")).resolve()
        # As long as this process: what is said of the study at its end is read there.
        atexit.register(shutil.rmtree, self.path, ignore_errors=True)
        with reaching(self.store):
            self.store.copy(self.path, is_small)

    def watched(self, executor: Executor) -> Executor:
        """The same executor, whose runs are seen here when they end, and now and then before."""
        with reaching(self.store):
            self.store.put(self.path / RECORD, RECORD)
        return _Watched(executor, self)

    def look_at(self, folder: str) -> None:
        """See what has become of a run, and what it has to say."""
        with reaching(self.store, RunError):
            for name in filter(is_small, self.store.names(folder)):
                self.store.get(f"{folder}/{name}", self.path / folder / name)
            self.store.get(*self._log(folder))

    def tell(self, folder: str) -> None:
        """Bring what was said of a run here to the address."""
        name, log = self._log(folder)
        if log.exists():
            with reaching(self.store, RunError):
                self.store.put(log, name)

    @contextmanager
    def speaking(self) -> Iterator[None]:
        """Let sentences name the address, and not what shows it here."""
        try:
            yield
        except UsageError as error:
            raise type(error)(str(error).replace(str(self.path), self.address)) from error

    def _log(self, folder: str) -> tuple[str, Path]:
        log = log_of(self.path / folder)
        return log.relative_to(self.path).as_posix(), log


class _Watched:
    def __init__(self, executor: Executor, mirror: Mirror) -> None:
        self._executor, self._mirror = executor, mirror
        self._active: set[str] = set()
        self._ended: set[str] = set()
        self._looked = time.monotonic()

    def slots(self) -> int:
        return self._executor.slots()

    def submit(self, folder: str, config: RunConfig, path: Path) -> None:
        self._executor.submit(folder, config, path)
        self._active.add(folder)

    def wait(self, seconds: float) -> list[Ended]:
        ended = self._executor.wait(seconds)
        for folder, _ in ended:
            self._active.discard(folder)
            self._ended.add(folder)
            self._mirror.look_at(folder)
        if time.monotonic() - self._looked > LOOK_SECONDS:
            for folder in self._active:
                name = f"{folder}/{METRICS}"
                self._mirror.store.get(name, self._mirror.path / name)
            self._looked = time.monotonic()
        return ended

    def stop(self) -> None:
        self._executor.stop()
        for folder in self._active:
            self._mirror.look_at(folder)
        for folder in self._ended:
            self._mirror.tell(folder)


@contextmanager
def mirrored(address: str, whole: bool = False) -> Iterator[Path]:
    """For a while, a folder with the small files of a study at `address`, or with the `whole` of it."""
    store = Store(address)
    with tempfile.TemporaryDirectory(prefix="rle-study-") as folder:
        with reaching(store):
            store.copy(Path(folder), (lambda _: True) if whole else is_small)
        yield Path(folder)


@contextmanager
def reaching(store: Store, kind: type[UsageError] = UsageError) -> Iterator[None]:
    """One sentence if an address does not answer, or not as it should."""
    try:
        yield
    except UsageError:
        raise
    # Every kind of address has exceptions of its own.
    except Exception as error:
        why = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise kind(
            f"{store.address} cannot be reached ({why.rstrip('.')}): check the address, and what grants "
            "access to it."
        ) from error
