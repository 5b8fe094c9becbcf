"""A study in local processes, one run each, that survives interruption and killed workers."""

from __future__ import annotations

import contextlib
import dataclasses
import multiprocessing
import multiprocessing.connection
import os
import signal
import sys
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.process import BaseProcess
from pathlib import Path

from rle.checks import require
from rle.config import RunConfig
from rle.errors import Interrupted, UsageError
from rle.machine import SHARE, cores
from rle.naming import exists, folder_within
from rle.runs.directory import CONFIG, RunDirectory, make_folder
from rle.runs.going_on import was_to_make
from rle.runs.train import resume, train_config
from rle.runs.trust import code_of_run
from rle.studies.catalogue import find_study
from rle.studies.definitions import Study
from rle.studies.progress import study_display

ATTEMPTS = 2
"""A run whose process died is resumed once; dying twice is no accident."""
LOG_SUFFIX = "-log.txt"
POLL_SECONDS = 0.5
STOP_SECONDS = 120.0
"""How long an interrupted study waits for its runs to write their checkpoints and end."""
ORPHAN_SECONDS = 5.0
"""The same for a run whose study is gone without a word."""


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
    study: str | Path | Study,
    *,
    tasks: Sequence[str] = (),
    methods: Sequence[str] = (),
    seeds: int | None = None,
    total_steps: int | None = None,
    workers: int | None = None,
    out: Path | str | None = None,
    quiet: bool = False,
) -> StudyResult:
    """Run what is missing of a study, or of a part of it; starting it again goes on.

    `study` is a name (see `rle list studies`), `module:name`, a TOML file, or a `Study` itself.
    Call it from under `if __name__ == "__main__":` in a script: it starts processes.
    """
    declared = find_study(study)
    if out is None:
        out = Path("runs") / folder_within(Path("runs"), declared.name)
    out = Path(out)
    runs = declared.only(tasks, methods).runs(seeds, total_steps, out)
    require(len(runs) > 0, "seeds is 0: give a number above 0.")
    workers = _side_by_side(runs) if workers is None else workers
    require(workers > 0, f"workers is {workers}: give a number above 0.")
    return run_all(runs, out, workers, quiet)


def _side_by_side(runs: dict[str, RunConfig]) -> int:
    """How many runs fit on the cores, given the threads that each asks for (0: all)."""
    available = cores()
    widest = max(run.machine.threads or available for run in runs.values())
    return max(1, available // widest)


def _share_of_cores(workers: int, missing: int) -> int:
    """Cores of one run: or else each would start as many simulator threads as there are cores."""
    return max(1, cores() // max(1, min(workers, missing)))


def run_all(
    runs: dict[str, RunConfig], out: Path, workers: int, quiet: bool = False
) -> StudyResult:
    """Train every configuration in its folder below `out`, unless it is there already."""
    _check_folder(runs, out)
    make_folder(out, "--out")
    started = time.monotonic()
    display = study_display(out, {folder: run.total_steps for folder, run in runs.items()}, quiet)
    try:
        with _ended_in_order():
            failed = _train_all(runs, out, workers, display.poll)
    finally:
        display.close()
    finished = tuple(folder for folder, run in runs.items() if _is_finished(out / folder, run))
    return StudyResult(out, finished, failed, time.monotonic() - started, display.made)


def _train_all(
    runs: dict[str, RunConfig], out: Path, workers: int, poll: Callable[[Collection[str]], None]
) -> tuple[str, ...]:
    """Keep `workers` runs going until none is missing; returns those that failed for good."""
    context = multiprocessing.get_context("spawn")
    waiting = [folder for folder, run in runs.items() if not _is_finished(out / folder, run)]
    share = _share_of_cores(workers, len(waiting))
    attempts = dict.fromkeys(waiting, 0)
    active: dict[str, BaseProcess] = {}
    failed: list[str] = []
    try:
        while waiting or active:
            while waiting and len(active) < workers:
                folder = waiting.pop(0)
                attempts[folder] += 1
                process = context.Process(target=_work, args=(runs[folder], out / folder, share))
                with _interrupts_ignored():
                    process.start()
                active[folder] = process
            multiprocessing.connection.wait(
                [process.sentinel for process in active.values()], POLL_SECONDS
            )
            poll(active)
            for folder in [name for name, process in active.items() if not process.is_alive()]:
                active.pop(folder).join()
                if _is_finished(out / folder, runs[folder]):
                    continue
                if attempts[folder] < ATTEMPTS:
                    waiting.insert(0, folder)
                else:
                    failed.append(folder)
    except BaseException:
        _stop(active.values())
        raise
    return tuple(failed)


@contextlib.contextmanager
def _ended_in_order() -> Iterator[None]:
    """Let SIGTERM end the study as Ctrl-C does."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def end(number: int, frame: object) -> None:
        raise Interrupted(number)

    previous = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, previous)


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


def _stop(workers: Collection[BaseProcess]) -> None:
    """End the processes of runs; when this returns or raises, there are none."""
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


def log_of(run: Path) -> Path:
    """Where a run's process writes what it prints; removed once the run is finished."""
    return run.with_name(run.name + LOG_SUFFIX)


def what_failed(result: StudyResult) -> str:
    """A sentence about the runs of a study that failed: how many, and what the first has to say."""
    first, *others = result.failed
    log = log_of(result.path / first)
    try:
        lines = log.read_text(encoding="utf-8", errors="replace").split("\n")
    except OSError:
        lines = []
    said = next((line for line in reversed(lines) if line.strip()), "it left no word")
    more = f", and {len(others)} others, each with a log like it" if others else ""
    return (
        f"{first} failed{more} ({log}): {said.removeprefix('rle: ').removesuffix('.')}; start the study "
        "again to go on."
    )


def _work(config: RunConfig, path: Path, share: int) -> None:
    """One run, in a process of its own, with its share of the cores."""
    _end_with_parent()
    os.environ[SHARE] = str(share)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        opened = log_of(path).open("a", encoding="utf-8")
    except OSError as error:
        print(f"rle: {log_of(path)} cannot be written ({error.strerror}).", file=sys.stderr)
        return
    with (
        opened as log,
        contextlib.redirect_stdout(log),
        contextlib.redirect_stderr(log),
    ):
        try:
            if (path / CONFIG).exists():
                # What the study itself names, its user has chosen; a run that names more is asked about.
                found = RunDirectory.open(path).config()
                resume(path, trust=set(code_of_run(found)) <= set(code_of_run(config)))
            else:
                train_config(config, path)
        except KeyboardInterrupt:
            return
        except UsageError as error:
            print(f"rle: {error}", file=log)
            return
        except Exception:
            traceback.print_exc()
            return
    log_of(path).unlink()


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


def _check_folder(runs: dict[str, RunConfig], out: Path) -> None:
    """Refuse to mix runs of other settings into a study, or its own runs with each other."""
    _check_capitals(runs, out)
    for folder, config in runs.items():
        if not exists(out / folder / CONFIG):
            continue
        run = RunDirectory.open(out / folder)
        found = run.config()
        # On another machine it is the same study.
        expected = dataclasses.replace(config, machine=found.machine)
        if was_to_make(run, config.total_steps):
            expected = dataclasses.replace(expected, total_steps=found.total_steps)
            warnings.warn(
                f"{run.path} was let go on to {found.total_steps:,} steps, beyond the study's "
                f"{config.total_steps:,}: it is left as it is, and reports show it as a method of its "
                "own length.",
                stacklevel=2,
            )
        if found != expected:
            raise UsageError(
                f"{out / folder} holds a run with other settings: choose another --out."
            )


def _check_capitals(folders: Iterable[str], out: Path) -> None:
    """Refuse two folders that are one where capitals do not count, unless both are there already."""
    alike: dict[str, str] = {}
    for folder in folders:
        other = alike.setdefault(folder.lower(), folder)
        require(
            other == folder or (exists(out / other) and exists(out / folder)),
            f"the folders {other} and {folder} differ in capitals only, and are one on many disks: "
            "call them differently.",
        )


def _is_finished(path: Path, config: RunConfig) -> bool:
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
