"""The `rle` command in a child that can be killed: forked from this process, which has imported all.

A fork spares the seconds that importing PyTorch takes, for each of thousands of starts. It also lets
the child be stopped exactly before its n-th file operation: Python tells an audit hook of each of them,
and the package need not know. The true command, in an interpreter of its own, is there as well.
"""

from __future__ import annotations

import multiprocessing
import os
import resource
import select
import signal
import struct
import sys
import time
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from rle import cli

PAUSE = 0.5
"""Seconds that a child stands still before the operation at which it may be killed."""
OPERATIONS = frozenset({"open", "os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.truncate"})
_PID = struct.Struct("i")


@dataclass(frozen=True)
class Ended:
    """What became of a command."""

    status: int | None
    """Its exit status; negative: the signal that ended it; None: it was ended for taking too long."""
    said: str
    complained: str

    @property
    def traceback(self) -> bool:
        """Whether it showed its user one."""
        return "Traceback (most recent call last)" in self.said + self.complained


@dataclass(frozen=True)
class Watch:
    """Which file operations of a child are counted, and at which it says so and stands still."""

    below: Path
    number: int | None = None
    pause: float = PAUSE


class Child:
    """A command under way, the leader of a session of its own."""

    def __init__(
        self,
        arguments: Sequence[str],
        log: Path,
        *,
        folder: Path | None = None,
        watch: Watch | None = None,
        true_command: bool = False,
        memory: int | None = None,
    ) -> None:
        """Start `rle` with `arguments`.

        Args:
            arguments: what stands after `rle`.
            log: output goes beside it, with the suffixes .out and .err; .count counts the operations.
            folder: where to work; None: here.
            watch: file operations to look at; not of the true command.
            true_command: in an interpreter of its own.
            memory: bytes of address space that it may take in addition to those it begins with.

        """
        self.log = log
        for suffix in _OUTPUTS:
            log.with_suffix(suffix).write_text("")
        sys.stdout.flush()
        sys.stderr.flush()
        self._pipe, writing = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            os.close(self._pipe)
            try:
                _prepare(log, folder, memory)
                if true_command:
                    # Kept open by whoever trains, so that its end is seen from here.
                    os.set_inheritable(writing, True)
                    os.execv(sys.executable, [sys.executable, "-m", "rle", *arguments])
                _run(arguments, log, watch, writing)
            finally:
                traceback.print_exc()
                os._exit(70)
        os.close(writing)

    def wait(self, seconds: float) -> int | None:
        """Wait for the watched operation, for the end of all of its processes, or so long.

        Returns:
            The process that stands before the operation; 0 if the command has ended; None otherwise.

        """
        if not select.select([self._pipe], [], [], seconds)[0]:
            return None
        word = os.read(self._pipe, _PID.size)
        return _PID.unpack(word)[0] if word else 0

    def members(self) -> list[int]:
        """The other processes of its session, such as a study's workers."""
        found = []
        for stat in Path("/proc").glob("[0-9]*/stat"):
            try:
                # The name, which may hold anything, stands in brackets.
                state, _, _, session = stat.read_text().rpartition(")")[2].split()[:4]
                tracker = b"resource_tracker" in (stat.parent / "cmdline").read_bytes()
            except OSError:
                continue
            pid = int(stat.parent.name)
            if int(session) == self.pid and pid != self.pid and state != "Z" and not tracker:
                found.append(pid)
        return found

    def kill(self) -> None:
        """End its first process without warning."""
        os.kill(self.pid, signal.SIGKILL)

    def ended(self, seconds: float) -> Ended:
        """What became of it, at the latest after so long."""
        until = time.monotonic() + seconds
        while True:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                break
            if time.monotonic() > until:
                self.kill()
                _, status = os.waitpid(self.pid, 0)
                return self._end(None)
            self.wait(max(0.0, min(0.05, until - time.monotonic())))
        return self._end(os.waitstatus_to_exitcode(status))

    def _end(self, status: int | None) -> Ended:
        os.close(self._pipe)
        texts = (self.log.with_suffix(suffix).read_text(errors="replace") for suffix in _OUTPUTS)
        return Ended(status, *texts)


_OUTPUTS = (".out", ".err")


def run(
    arguments: Sequence[str], log: Path, seconds: float, folder: Path | None = None, **more: Any
) -> Ended:
    """Run a command to its end."""
    return Child(arguments, log, folder=folder, **more).ended(seconds)


def operations_of(log: Path) -> int:
    """How many file operations a command made that was watched to its end."""
    return int(log.with_suffix(".count").read_text())


def _prepare(log: Path, folder: Path | None, memory: int | None) -> None:
    os.setsid()
    log = log.absolute()
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    for number, suffix in enumerate(_OUTPUTS, start=1):
        os.dup2(os.open(log.with_suffix(suffix), os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
    if folder is not None:
        os.chdir(folder)
    if memory is not None:
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        limit = pages * resource.getpagesize() + memory
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


def _run(arguments: Sequence[str], log: Path, watch: Watch | None, writing: int) -> NoReturn:
    """Be the command."""
    operations = None
    if watch is not None:
        operations = _Operations(watch, writing)
        sys.addaudithook(operations)
    # A study's workers are forks as well.
    fork = multiprocessing.get_context("fork")
    multiprocessing.get_context = lambda method=None: fork  # type: ignore[assignment]
    try:
        status = cli.main(arguments)
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else 1
    except BaseException:
        traceback.print_exc()
        status = 1
    if operations is not None:
        log.with_suffix(".count").write_text(str(operations.count))
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


class _Operations:
    """Counts file operations, and stands still before one of them."""

    def __init__(self, watch: Watch, pipe: int) -> None:
        self._watch, self._pipe = watch, pipe
        self._below = str(watch.below.absolute())
        self.count = 0

    def __call__(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event not in OPERATIONS or not self._concerns(arguments[0]):
            return
        self.count += 1
        if self.count == self._watch.number:
            os.write(self._pipe, _PID.pack(os.getpid()))
            time.sleep(self._watch.pause)

    def _concerns(self, path: object) -> bool:
        if isinstance(path, int) or path is None:
            return False
        text = os.fsdecode(path)  # type: ignore[arg-type]
        # What is opened within a folder that was opened before has a relative name.
        return text.startswith(self._below) or not text.startswith("/")
