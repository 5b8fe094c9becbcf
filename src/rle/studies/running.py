"""A study from its name to its result: what is missing of it is trained; it survives interruption."""

from __future__ import annotations

import contextlib
import dataclasses
import signal
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from rle.checks import require
from rle.config import RunConfig
from rle.errors import Interrupted, UsageError
from rle.machine import cores
from rle.naming import exists, folder_within
from rle.runs.directory import CONFIG, RunDirectory, make_folder
from rle.runs.going_on import was_to_make
from rle.studies.catalogue import find_study
from rle.studies.definitions import Study
from rle.studies.executor import Executor
from rle.studies.folder import GIVEN_UP, last_words, log_of, record_runs
from rle.studies.local import LocalExecutor
from rle.studies.parts import part_of
from rle.studies.progress import study_display
from rle.studies.schedule import is_finished, train_all


@dataclass(frozen=True)
class StudyResult:
    """What became of a study."""

    path: Path
    finished: tuple[str, ...]
    failed: tuple[str, ...]
    seconds: float
    steps: int
    """Agent steps made in this call, over all runs."""
    left: tuple[str, ...] = ()
    """Runs that another process was training, and that were left to it."""


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
    only: str | None = None,
    ray: str | None = None,
    cpus_per_run: float | None = None,
    gpus_per_run: float | None = None,
) -> StudyResult:
    """Run what is missing of a study, or of a part of it; starting it again goes on.

    `study` is a name (see `rle list studies`), `module:name`, a TOML file, or a `Study` itself.
    `only` is `K/N` for the K-th of N parts of its runs, which other processes may share a folder with.
    `ray` is the address of a Ray cluster, or `local`; a run there has `cpus_per_run` (by default as many
    as it has threads) and `gpus_per_run` (none).
    Call it from under `if __name__ == "__main__":` in a script: it starts processes.
    """
    declared = find_study(study)
    if out is None:
        out = Path("runs") / folder_within(Path("runs"), declared.name)
    out = Path(out)
    runs = declared.only(tasks, methods).runs(seeds, total_steps, out)
    require(len(runs) > 0, "seeds is 0: give a number above 0.")
    part = runs if only is None else part_of(runs, only)
    if ray is not None:
        require(
            workers is None, "workers are processes of this machine: leave them out with --ray."
        )
        cpus = max(run.machine.threads for run in part.values()) or 1
        start = partial(
            _on_ray, ray, cpus if cpus_per_run is None else cpus_per_run, gpus_per_run or 0
        )
        return run_all(runs, out, 1, quiet, part, start)
    require(
        cpus_per_run is None and gpus_per_run is None,
        "cpus-per-run and gpus-per-run are for --ray: leave them out.",
    )
    workers = _side_by_side(part) if workers is None else workers
    require(workers > 0, f"workers is {workers}: give a number above 0.")
    return run_all(runs, out, workers, quiet, part)


def _side_by_side(runs: dict[str, RunConfig]) -> int:
    """How many runs fit on the cores, given the threads that each asks for (0: all)."""
    available = cores()
    widest = max(run.machine.threads or available for run in runs.values())
    return max(1, available // widest)


def run_all(
    runs: dict[str, RunConfig],
    out: Path,
    workers: int,
    quiet: bool = False,
    part: dict[str, RunConfig] | None = None,
    start: Callable[[], Executor] | None = None,
) -> StudyResult:
    """Train every configuration in its folder below `out`, unless it is there already.

    `part` of the `runs` of a study is what is trained here; the others are known to its folder. `start`
    makes what carries them out; without it, they are processes of this machine.
    """
    _check_folder(runs, out)
    make_folder(out, "--out")
    record_runs(out, _totals(runs))
    runs = runs if part is None else part
    started = time.monotonic()
    display = study_display(out, _totals(runs), quiet)
    missing = [folder for folder, run in runs.items() if not is_finished(out / folder, run)]
    try:
        with _ended_in_order():
            executor = LocalExecutor(workers, len(missing)) if start is None else start()
            failed = train_all(runs, out, missing, executor, display.poll)
    finally:
        display.close()
    finished = tuple(folder for folder, run in runs.items() if is_finished(out / folder, run))
    left = tuple(folder for folder in missing if folder not in {*finished, *failed})
    return StudyResult(out, finished, failed, time.monotonic() - started, display.made, left)


def _on_ray(address: str, cpus: float, gpus: float) -> Executor:
    from rle.studies.on_ray import RayExecutor

    return RayExecutor(address, cpus, gpus)


def _totals(runs: dict[str, RunConfig]) -> dict[str, int]:
    return {folder: run.total_steps for folder, run in runs.items()}


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


def what_failed(result: StudyResult) -> str:
    """A sentence about the runs of a study that failed: how many, and what the first has to say."""
    first, *others = result.failed
    log = log_of(result.path / first)
    lines = [line for line in last_words(result.path / first) if line != GIVEN_UP]
    said = lines[-1] if lines else "it left no word"
    more = f", and {len(others)} others, each with a log like it" if others else ""
    return (
        f"{first} failed{more} ({log}): {said.removeprefix('rle: ').removesuffix('.')}; start the study "
        "again to go on."
    )


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
