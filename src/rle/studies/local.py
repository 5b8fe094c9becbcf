"""A study in local processes, one per core, that survives interruption and killed workers."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from multiprocessing.synchronize import Event
from pathlib import Path

from rle.config import RunConfig, require, to_dict
from rle.errors import UsageError
from rle.runs.directory import CONFIG, RunDirectory
from rle.runs.train import resume, train_config
from rle.studies.definitions import find_study
from rle.studies.progress import last_step, study_display

ATTEMPTS = 2
"""A run whose process died is resumed once; dying twice is no accident."""
LOG = "log.txt"
POLL_SECONDS = 0.5


@dataclass(frozen=True)
class StudyResult:
    """What became of a study."""

    path: Path
    finished: tuple[str, ...]
    failed: tuple[str, ...]
    seconds: float
    steps: int
    """Agent steps made in this call, over all runs."""


def study(
    name: str,
    *,
    tasks: Sequence[str] = (),
    methods: Sequence[str] = (),
    seeds: int | None = None,
    total_steps: int | None = None,
    workers: int | None = None,
    out: Path | str | None = None,
    quiet: bool = False,
) -> StudyResult:
    """Run what is missing of a study, or of a part of it; starting it again goes on where it stopped."""
    runs = find_study(name).only(tasks, methods).runs(seeds, total_steps)
    require(len(runs) > 0, "seeds is 0: give a number above 0.")
    workers = _cores() if workers is None else workers
    require(workers > 0, f"workers is {workers}: give a number above 0.")
    return run_all(runs, Path("runs") / name if out is None else Path(out), workers, quiet)


def _cores() -> int:
    """Cores this process may use, where the system tells, or else all there are."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def run_all(
    runs: dict[str, RunConfig], out: Path, workers: int, quiet: bool = False
) -> StudyResult:
    """Train every configuration in its folder below `out`, unless it is there already."""
    _check_folder(runs, out)
    out.mkdir(parents=True, exist_ok=True)
    started = time.monotonic()
    steps_before = sum(last_step(out / folder) for folder in runs)
    attempts = dict.fromkeys(runs, 0)
    failures: dict[str, str] = {}
    display = study_display(out, {folder: run.total_steps for folder, run in runs.items()}, quiet)
    try:
        while pending := [
            folder for folder in runs if not _is_finished(out / folder) and folder not in failures
        ]:
            for folder, error in _round(pending, runs, out, workers, display.poll):
                attempts[folder] += 1
                if attempts[folder] >= ATTEMPTS:
                    failures[folder] = error
    finally:
        display.close()
    finished = tuple(folder for folder in runs if _is_finished(out / folder))
    steps = sum(last_step(out / folder) for folder in runs) - steps_before
    return StudyResult(out, finished, tuple(failures), time.monotonic() - started, steps)


def _round(
    pending: list[str],
    runs: dict[str, RunConfig],
    out: Path,
    workers: int,
    poll: Callable[[], None],
) -> Iterator[tuple[str, str]]:
    """Give every pending run one go; yields those that failed, with the reason."""
    context = multiprocessing.get_context("spawn")
    stop = context.Event()
    with ProcessPoolExecutor(
        min(workers, len(pending)), context, initializer=_watch, initargs=(stop,)
    ) as pool:
        jobs: dict[Future[None], str] = {
            pool.submit(_work, runs[folder], out / folder): folder for folder in pending
        }
        waiting = set(jobs)
        try:
            while waiting:
                done, waiting = wait(waiting, POLL_SECONDS, FIRST_COMPLETED)
                poll()
                for job in done:
                    error = job.exception()
                    # One killed process breaks the pool for all that were queued behind it: only
                    # those that had begun have used up an attempt.
                    if isinstance(error, BrokenProcessPool):
                        if (out / jobs[job] / CONFIG).exists():
                            yield jobs[job], "its process was killed"
                    elif isinstance(error, UsageError):
                        raise error
                    elif error is not None:
                        yield jobs[job], str(error)
        except BaseException:
            stop.set()
            pool.shutdown(wait=True, cancel_futures=True)
            raise


_stopped = threading.Event()
"""In a worker process: the study is over, start nothing more."""


def _watch(stop: Event) -> None:
    """In a worker process, checkpoint and end when the study is stopped or its process is gone."""
    parent = multiprocessing.parent_process()
    assert parent is not None

    def watch() -> None:
        while not stop.wait(POLL_SECONDS) and parent.is_alive():
            pass
        _stopped.set()
        # The training loop takes it as a wish: it finishes the iteration and writes a checkpoint.
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=watch, daemon=True).start()


def _work(config: RunConfig, path: Path) -> None:
    """One run, in a worker process; what it prints goes to a file beside it."""
    # The pool hands its workers a job ahead, which an interrupted study must not begin.
    if _stopped.is_set():
        return
    path.mkdir(parents=True, exist_ok=True)
    log_path = path.with_name(f"{path.name}-{LOG}")
    with (
        log_path.open("a", encoding="utf-8") as log,
        contextlib.redirect_stdout(log),
        contextlib.redirect_stderr(log),
    ):
        try:
            if (path / CONFIG).exists():
                resume(path)
            else:
                train_config(config, path)
        except Exception:
            traceback.print_exc()
            raise
    log_path.unlink()


def _check_folder(runs: dict[str, RunConfig], out: Path) -> None:
    """Refuse to mix runs of other settings into a study."""
    for folder, config in runs.items():
        if not (out / folder / CONFIG).exists():
            continue
        found = to_dict(RunDirectory.open(out / folder).config())
        # Whether a run was compiled is decided when it starts.
        if found | {"compile": None} != to_dict(config) | {"compile": None}:
            raise UsageError(
                f"{out / folder} holds a run with other settings: choose another --out."
            )


def _is_finished(path: Path) -> bool:
    return (path / CONFIG).exists() and RunDirectory.open(path).finished() is not None
