"""Which run is started next, and how often: the same wherever runs are carried out."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path

from rle.config import RunConfig
from rle.naming import exists
from rle.runs.directory import CONFIG, LOCK, RunDirectory
from rle.runs.files import is_held
from rle.runs.going_on import was_to_make
from rle.studies.executor import Executor
from rle.studies.folder import GIVEN_UP, say_in_log

ATTEMPTS = 3
"""A run whose process or machine died goes on from its checkpoint; dying three times is no accident."""
POLL_SECONDS = 0.5


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
    waiting = list(missing)
    attempts = dict.fromkeys(waiting, 0)
    active: dict[str, None] = {}
    failed: list[str] = []
    try:
        while waiting or active:
            while waiting and len(active) < executor.slots():
                folder = waiting.pop(0)
                # Looked at only now: another study of the folder may have had it meanwhile.
                if is_taken(out / folder) or is_finished(out / folder, runs[folder]):
                    continue
                attempts[folder] += 1
                executor.submit(folder, runs[folder], out / folder)
                active[folder] = None
            if not active and not waiting:
                break
            ended = executor.wait(POLL_SECONDS)
            poll(active)
            for folder in ended:
                del active[folder]
                if is_finished(out / folder, runs[folder]):
                    continue
                if attempts[folder] < ATTEMPTS:
                    waiting.insert(0, folder)
                elif not is_taken(out / folder):
                    say_in_log(out / folder, GIVEN_UP)
                    failed.append(folder)
    finally:
        executor.stop()
    return tuple(failed)


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
