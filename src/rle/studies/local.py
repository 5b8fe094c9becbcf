"""Runs in processes of this machine that never outlive their study.

A run has a process of its own, but for those that are compiled: a process that has compiled one is given
another, since what it compiled fits all runs of the same shapes, and compiling takes longer than many a
run.
"""

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
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerContext, SpawnContext
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import NamedTuple

from rle.config import MachineConfig, RunConfig
from rle.machine import cores
from rle.studies.executor import STOP_SECONDS, Ended, Job, kind_of

ORPHAN_SECONDS = 5.0
"""How long a run whose study is gone without a word may take to write a checkpoint and end."""


class _Worker(NamedTuple):
    """A process, how to give it runs, and what it has been set up for."""

    process: BaseProcess
    connection: Connection
    setting: tuple[str, int, int]
    compiled: set[str]
    """Kinds of runs that it has compiled."""


def _setting(machine: MachineConfig) -> tuple[str, int, int]:
    """What a run changes in its whole process: another that asks for something else needs another."""
    return machine.device, machine.devices, machine.threads


class LocalExecutor:
    """Up to `workers` processes side by side, each of which does `job` on its `share` of the cores."""

    def __init__(self, workers: int, share: int, job: Job) -> None:
        self._workers, self._share, self._job = workers, share, job
        self._context = _context()
        self._active: dict[str, _Worker] = {}
        self._idle: list[_Worker] = []

    def slots(self) -> int:
        return self._workers

    def submit(self, folder: str, config: RunConfig, path: Path) -> None:
        kind = kind_of(config)
        setting = _setting(config.machine)
        worker = self._fitting(setting, kind) or self._started(setting)
        worker.compiled.add(kind)
        # One that died meanwhile does not listen: `wait` finds it dead, and the run has another turn.
        with contextlib.suppress(ConnectionError):
            worker.connection.send((config, path, dict(os.environ)))
        self._active[folder] = worker

    def _fitting(self, setting: tuple[str, int, int], kind: str) -> _Worker | None:
        """An idle process with this setting, if possible one that knows this kind of run."""
        fitting = [worker for worker in self._idle if worker.setting == setting]
        if not fitting:
            self._dismiss()
            return None
        worker = max(fitting, key=lambda each: kind in each.compiled)
        self._idle.remove(worker)
        return worker

    def _started(self, setting: tuple[str, int, int]) -> _Worker:
        ours, theirs = self._context.Pipe()
        process = self._context.Process(target=_run, args=(theirs, self._job, self._share))
        with _interrupts_ignored():
            process.start()
        # Whoever holds it keeps the pipe open: the process would never hear that nothing more comes.
        theirs.close()
        return _Worker(process, ours, setting, set())

    def _dismiss(self) -> None:
        """Let the processes go that have nothing to do."""
        for worker in self._idle:
            worker.connection.close()
        for worker in self._idle:
            worker.process.join()
        self._idle.clear()

    def wait(self, seconds: float) -> list[Ended]:
        active = self._active.values()
        told = [worker.connection for worker in active]
        multiprocessing.connection.wait(
            [*told, *(each.process.sentinel for each in active)], seconds
        )
        ended = []
        for folder, worker in list(self._active.items()):
            if self._is_idle(worker):
                self._idle.append(worker)
                ended.append(Ended(folder))
            elif not worker.process.is_alive():
                worker.process.join()
                worker.connection.close()
                ended.append(Ended(folder, died=worker.process.exitcode != 0))
        for end in ended:
            del self._active[end.folder]
        return ended

    def _is_idle(self, worker: _Worker) -> bool:
        """Whether a process has done its run and waits for another."""
        try:
            if worker.connection.poll():
                worker.connection.recv()
                return True
        except (EOFError, ConnectionError):
            # It ends, or has died: closing its end of the pipe is the last that it does.
            worker.process.join()
        return False

    def stop(self) -> None:
        self._dismiss()
        workers = [worker.process for worker in self._active.values()]
        deadline = time.monotonic() + STOP_SECONDS
        try:
            # Each takes SIGTERM as a wish: finish the iteration, write a checkpoint, end.
            for worker in self._active.values():
                worker.connection.close()
                worker.process.terminate()
            for process in workers:
                process.join(max(deadline - time.monotonic(), 0.0))
        finally:
            # It took too long, or Ctrl-C came once more.
            for process in workers:
                process.kill()
            for process in workers:
                process.join()


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


def _run(connection: Connection, job: Job, share: int) -> None:
    """Do the runs that come, until one was not compiled, or is not finished, or no more come."""
    _end_with_parent()
    while True:
        try:
            config, path, environment = connection.recv()
        except (EOFError, ConnectionError):
            return
        # The process that this one is a copy of may have been started with other variables.
        os.environ.clear()
        os.environ.update(environment)
        sentence = job(config, path, share)
        if sentence:
            print(f"rle: {sentence}", file=sys.stderr)
        if config.machine.compile != "on" or sentence is not None:
            # Nothing to be kept; or something went wrong, which had better not happen to others too.
            return
        try:
            connection.send(None)
        except ConnectionError:
            return


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
