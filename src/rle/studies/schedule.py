"""Which run is started next, and how often: the same wherever runs are carried out."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path

from rle.config import RunConfig
from rle.naming import exists
from rle.runs.directory import CONFIG, LOCK, RunDirectory
from rle.runs.files import is_held
from rle.runs.going_on import was_to_make
from rle.runs.logs import last_metrics
from rle.studies.executor import Ended, Executor
from rle.studies.folder import GIVEN_UP, say_in_log

ATTEMPTS = 3
"""A run that has failed so often in a row is given up; dying, having come further, is no failure."""
POLL_SECONDS = 0.5
CANCELS = (
    "cancelling: runs write a checkpoint when their iteration ends; Ctrl-C again ends them at once"
)


def train_all(
    runs: Mapping[str, RunConfig],
    out: Path,
    missing: Iterable[str],
    executor: Executor,
    poll: Callable[[Collection[str]], None],
) -> tuple[str, ...]:
    """Keep `executor` busy until no run is missing; returns those that failed for good.

    A run that another process is training is left to it.
    """
    turns = _Turns(runs, out, missing)
    active: dict[str, None] = {}
    try:
        while turns.waiting or active:
            for folder in turns.next(lambda: executor.slots() - len(active)):
                # All machines are to see the study's folder: none makes one of its own.
                (out / folder).parent.mkdir(parents=True, exist_ok=True)
                executor.submit(folder, runs[folder], out / folder)
                active[folder] = None
            if not active and not turns.waiting:
                break
            ended = executor.wait(POLL_SECONDS)
            poll(active)
            for end in ended:
                del active[end.folder]
                turns.ended(end)
    except KeyboardInterrupt:
        print(CANCELS, file=sys.stderr, flush=True)
        raise
    finally:
        executor.stop()
    return tuple(turns.failed)


class _Turns:
    """Whose turn it is: `missing` runs in their order, and those again that were to go on."""

    def __init__(self, runs: Mapping[str, RunConfig], out: Path, missing: Iterable[str]) -> None:
        self._runs, self._out = runs, out
        self.waiting = list(missing)
        self.failed: list[str] = []
        self._failures = dict.fromkeys(self.waiting, 0)
        self._furthest: dict[str, int] = {}
        """Of the runs that were started, the step they were once at."""

    def next(self, room: Callable[[], int]) -> Iterable[str]:
        """The runs to start now, as long as there is room for one."""
        held = []
        while self.waiting and room() > 0:
            folder = self.waiting.pop(0)
            path = self._out / folder
            # Looked at only now: another study of the folder may have had it meanwhile.
            if is_finished(path, self._runs[folder]):
                continue
            if is_taken(path):
                # A machine that is given up for dead may train on for a while: the run is still ours.
                if folder in self._furthest:
                    held.append(folder)
                continue
            self._furthest[folder] = max(self._furthest.get(folder, 0), _step(path))
            yield folder
        self.waiting[:0] = held

    def ended(self, end: Ended) -> None:
        """Let a run have another turn, unless it is finished or has failed too often."""
        folder, path = end.folder, self._out / end.folder
        if is_finished(path, self._runs[folder]):
            return
        # Machines die. Runs that die without coming any further have a reason of their own.
        further = end.died and _step(path) > self._furthest[folder]
        self._failures[folder] = 0 if further else self._failures[folder] + 1
        if self._failures[folder] < ATTEMPTS:
            self.waiting.insert(0, folder)
        elif not is_taken(path):
            say_in_log(path, GIVEN_UP)
            self.failed.append(folder)


def is_taken(path: Path) -> bool:
    """Whether a process is training the run at the moment."""
    return is_held(path / LOCK)


def is_finished(path: Path, config: RunConfig) -> bool:
    """Whether a run has made all the steps that the study asks of it."""
    if not exists(path / CONFIG):
        return False
    run = RunDirectory.open(path)
    if run.finished() is not None:
        return True
    # One that goes on for longer has made the study's before, whoever is training it now.
    return was_to_make(run, config.total_steps) and (
        max(run.checkpoint_steps(), default=0) >= config.total_steps
    )


def _step(path: Path) -> int:
    step: int = last_metrics(path).get("step", 0)
    return step
