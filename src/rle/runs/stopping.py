"""Signals: the first is a wish that is met at the next safe point, the second stops the run at once.

Python runs a handler of its own only between two of its instructions, so none would ever run while an
environment hangs or something is compiled. The system tells a pipe of every signal all the same, and a
thread reads it: whatever the run is doing, it ends after a grace period, with its last checkpoint.
"""

from __future__ import annotations

import os
import select
import signal
import socket
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from rle.errors import Interrupted

GRACE = 30.0
"""Seconds that an iteration may go on after the first signal; a run of longer ones gets two of them."""
POLL_SECONDS = 0.5
SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Wish:
    """Whether the run is to end, and how long it may take over it."""

    def __init__(self, quiet: bool) -> None:
        self._quiet = quiet
        self._number: int | None = None
        self._deadline: float | None = None
        self._saving = False
        self._in_iterations = False
        self.longest_iteration = 0.0
        """In seconds."""

    @property
    def made(self) -> bool:
        """Whether the run is to end at its next safe point."""
        return self._number is not None

    @contextmanager
    def iterating(self) -> Iterator[None]:
        """While there is a safe point to wait for; before, a signal ends the run as it stands."""
        self._in_iterations = True
        try:
            yield
        finally:
            self._in_iterations = False

    def obey(self) -> None:
        """End the run, if that is wished: call it where everything is saved."""
        if self._number is not None:
            raise Interrupted(self._number)

    @contextmanager
    def saving(self) -> Iterator[None]:
        """While a checkpoint is written: what is being saved is not cut off by the grace period."""
        self._saving = True
        try:
            yield
        finally:
            if self._deadline is not None:
                self._deadline = time.monotonic() + GRACE
            self._saving = False

    def handle(self, number: int, frame: FrameType | None) -> None:
        """As Python's handler of a signal."""
        self._number = self._number or number
        if not self._in_iterations:
            raise Interrupted(number)

    def watch(self, told: socket.socket) -> None:
        """Wait in a thread of its own for the numbers of signals, until nobody writes them any more."""
        asked = 0
        while True:
            # Now and then all the same: for the deadline.
            readable, _, _ = select.select([told], [], [], POLL_SECONDS)
            numbers = told.recv(64) if readable else b""
            if readable and not numbers:
                return
            for number in numbers:
                if number not in SIGNALS:
                    continue
                asked += 1
                self._number = self._number or number
                if asked == 1:
                    grace = max(GRACE, 2 * self.longest_iteration)
                    self._deadline = time.monotonic() + grace
                    self._tell_of_the_wish(grace)
                else:
                    _stop_now(number, "stopped at once")
            late = self._deadline is not None and time.monotonic() >= self._deadline
            if late and not self._saving:
                _stop_now(self._number or signal.SIGTERM, "the iteration did not end; stopped")

    def _tell_of_the_wish(self, grace: float) -> None:
        if self._quiet or not self._in_iterations or not sys.stderr.isatty():
            return
        _say(
            f"stopping with a checkpoint at the end of this iteration, or in {grace:.0f} s without one; "
            "once more stops at once"
        )


def _stop_now(number: int, why: str) -> None:
    """End this process without waiting for anything."""
    if sys.stdout.isatty():
        # The progress display has hidden it.
        os.write(sys.stdout.fileno(), b"\x1b[?25h\n")
    _say(f"{why}; `rle resume RUN` goes on from the last checkpoint")
    os._exit(128 + number)


def _say(line: str) -> None:
    """Print a line, unless that takes long: whoever hangs may hold on to the output as well."""

    def say() -> None:
        print(f"rle: {line}", file=sys.stderr, flush=True)

    speaker = threading.Thread(target=say, daemon=True)
    speaker.start()
    speaker.join(1.0)


@contextmanager
def listening(quiet: bool = False) -> Iterator[Wish]:
    """Turn Ctrl-C and SIGTERM into wishes, as long as a run is built and trained.

    A signal that this process was told to ignore stays ignored. Outside the main thread there are no
    signals.
    """
    wish = Wish(quiet)
    if threading.current_thread() is not threading.main_thread():
        yield wish
        return
    system, told = socket.socketpair()
    system.setblocking(False)
    numbers = [number for number in SIGNALS if signal.getsignal(number) != signal.SIG_IGN]
    previous = {number: signal.signal(number, wish.handle) for number in numbers}
    before = signal.set_wakeup_fd(system.fileno(), warn_on_full_buffer=False)
    watcher = threading.Thread(target=wish.watch, args=(told,), name="rle signals", daemon=True)
    watcher.start()
    try:
        yield wish
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(before, warn_on_full_buffer=False)
        system.close()
        watcher.join()
        told.close()
