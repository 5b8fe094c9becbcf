"""One run of a study, in the process that was started for it."""

from __future__ import annotations

import contextlib
import os
import socket
import tempfile
import time
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from rle.config import RunConfig
from rle.errors import UsageError
from rle.machine import SHARE
from rle.runs.callbacks import Callback
from rle.runs.directory import CONFIG, RunDirectory
from rle.runs.episodes import Episode
from rle.runs.remote import Store
from rle.runs.train import resume, train_config
from rle.runs.trainer import Trainer
from rle.runs.trust import code_of_run
from rle.studies.executor import IN_LOG
from rle.studies.folder import log_of

TELL_SECONDS = 20.0
"""How often a run at an address shows there that it goes on."""


def work(
    config: RunConfig, path: Path, share: int, callbacks: Sequence[Callback] = ()
) -> str | None:
    """Train a run, or go on with it, on its share of the cores; what it has to say is in its log.

    Returns:
        None if the run is finished; else a sentence that says why there is not even a log, or nothing if
        there is one.

    """
    os.environ[SHARE] = str(share)
    try:
        opened = log_of(path).open("a", encoding="utf-8")
    except OSError as error:
        return (
            f"{log_of(path)} cannot be written on {socket.gethostname()} ({error.strerror}): let every "
            "machine see the study's folder under the same path."
        )
    with (
        opened as log,
        contextlib.redirect_stdout(log),
        contextlib.redirect_stderr(log),
    ):
        try:
            if (path / CONFIG).exists():
                # What the study itself names, its user has chosen; a run that names more is asked about.
                found = RunDirectory.open(path).config()
                trust = set(code_of_run(found)) <= set(code_of_run(config))
                resume(path, callbacks=callbacks, trust=trust)
            else:
                train_config(config, path, callbacks=callbacks)
        except KeyboardInterrupt:
            return IN_LOG
        except UsageError as error:
            print(f"rle: {error}", file=log)
            return IN_LOG
        except Exception:
            traceback.print_exc()
            return IN_LOG
    log_of(path).unlink(missing_ok=True)  # Another study of the same folder may have been quicker.
    return None


def work_at(address: str, mirror: Path, config: RunConfig, path: Path, share: int) -> str | None:
    """The same for a run at an address, of which `path` in `mirror` is the study's view.

    It is trained in a folder of this machine. Whole checkpoints are brought to the address, from where
    the run goes on wherever it is started next.
    """
    store, folder = Store(address), path.relative_to(mirror).as_posix()
    log = log_of(path).relative_to(mirror).as_posix()
    with tempfile.TemporaryDirectory(prefix="rle-run-") as scratch:
        here = Path(scratch) / path.name
        store.download(folder, here)
        store.get(log, log_of(here))
        sentence = work(config, here, share, [_Uploading(store, folder)])
        store.upload(here, folder)
        if log_of(here).exists():
            store.put(log_of(here), log)
        else:
            store.remove(log)
    return sentence


class _Uploading(Callback):
    """Brings a run to its address after each checkpoint, and its metrics now and then."""

    def __init__(self, store: Store, folder: str) -> None:
        self._store, self._folder = store, folder
        self._uploaded: list[int] = []
        self._told = 0.0

    def on_start(self, run: RunDirectory, trainer: Trainer) -> None:
        self._run = run
        self._uploaded = run.checkpoint_steps()
        self._try(self._store.upload)

    def on_iteration(
        self, trainer: Trainer, metrics: dict[str, Any], episodes: list[Episode]
    ) -> None:
        # Of the iteration before: this one's checkpoint comes after.
        saved = self._run.checkpoint_steps()
        if saved != self._uploaded:
            self._try(self._store.upload)
            self._uploaded = saved
        elif time.monotonic() - self._told > TELL_SECONDS:
            self._try(self._store.upload_metrics)

    def _try(self, upload: Callable[[Path, str], None]) -> None:
        """What cannot be brought there now is with the next checkpoint, or at the end of the run."""
        self._told = time.monotonic()
        try:
            upload(self._run.path, self._folder)
        except Exception as error:  # Every kind of address has its own.
            print(f"rle: {self._store.address} did not take a checkpoint ({error}).", flush=True)
