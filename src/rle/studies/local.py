"""Runs in processes of this machine, one each, that never outlive their study."""

from __future__ import annotations

import contextlib
import multiprocessing
import multiprocessing.connection
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from multiprocessing.context import ForkServerContext, SpawnContext
from multiprocessing.process import BaseProcess
from pathlib import Path

from rle.config import RunConfig
from rle.machine import cores
from rle.studies.executor import STOP_SECONDS, Ended, Job

ORPHAN_SECONDS = 5.0
"""How long a run whose study is gone without a word may take to write a checkpoint and end."""


class LocalExecutor:
    """Up to `workers` processes side by side, each of which does `job` on its `share` of the cores."""

    def __init__(self, workers: int, share: int, job: Job) -> None:
        self._workers, self._share, self._job = workers, share, job
        self._context = _context()
        self._active: dict[str, BaseProcess] = {}

    def slots(self) -> int:
        return self._workers

    def submit(self, folder: str, config: RunConfig, path: Path) -> None:
        process = self._context.Process(
            target=_run, args=(self._job, config, path, self._share, dict(os.environ))
        )
        with _interrupts_ignored():
            process.start()
        self._active[folder] = process

    def wait(self, seconds: float) -> list[Ended]:
        sentinels = [process.sentinel for process in self._active.values()]
        multiprocessing.connection.wait(sentinels, seconds)
        over = {name: each for name, each in self._active.items() if not each.is_alive()}
        for folder, process in over.items():
            process.join()
            del self._active[folder]
        return [Ended(folder, died=process.exitcode != 0) for folder, process in over.items()]

    def stop(self) -> None:
        workers = list(self._active.values())
        deadline = time.monotonic() + STOP_SECONDS
        try:
            # Each takes SIGTERM as a wish: finish the iteration, write a checkpoint, end.
            for worker in workers:
                worker.terminate()
            for worker in workers:
                worker.join(max(deadline - time.monotonic(), 0.0))
        finally:
            # It took too long, or Ctrl-C came once more.
            for worker in workers:
                worker.kill()
            for worker in workers:
                worker.join()


def _context() -> SpawnContext | ForkServerContext:
    """How processes are started: on Linux as copies of one that has imported PyTorch already.

    Importing it is most of the time until a run begins. That process does nothing else, so there are no
    threads and no GPU whose state a copy would lack.
    """
    if sys.platform != "linux":
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["rle.studies.worker"])
    return context


def share_of_cores(workers: int, missing: int) -> int:
    """Cores of one run: or else each would start as many simulator threads as there are cores."""
    return max(1, cores() // max(1, min(workers, missing)))


@contextlib.contextmanager
def _interrupts_ignored() -> Iterator[None]:
    """Start processes that leave Ctrl-C, which a terminal sends to all of them, to the study."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    previous = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, previous)


def _run(job: Job, config: RunConfig, path: Path, share: int, environment: dict[str, str]) -> None:
    # The process that this one is a copy of may have been started with other variables.
    os.environ.clear()
    os.environ.update(environment)
    _end_with_parent()
    sentence = job(config, path, share)
    if sentence is not None:
        print(f"rle: {sentence}", file=sys.stderr)


def _end_with_parent() -> None:
    """Checkpoint and end this process when the study's own is gone, or end it without."""
    parent = multiprocessing.parent_process()
    assert parent is not None

    def watch() -> None:
        multiprocessing.connection.wait([parent.sentinel])
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(ORPHAN_SECONDS)
        os._exit(128 + signal.SIGTERM)

    threading.Thread(target=watch, daemon=True).start()
