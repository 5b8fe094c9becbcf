"""A study from its name to its result: what is missing of it is trained; it survives interruption."""

from __future__ import annotations

import contextlib
import dataclasses
import signal
import threading
import time
import warnings
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from rle.checks import require
from rle.config import RunConfig
from rle.errors import Interrupted, RunError, UsageError
from rle.learn.compilation import compiler_available, pays
from rle.machine import cores, memory_bytes
from rle.naming import exists, folder_within, is_file
from rle.runs.directory import CONFIG, RunDirectory, make_folder
from rle.runs.going_on import was_to_make
from rle.runs.remote import is_address
from rle.settings import replace
from rle.studies.catalogue import find_study
from rle.studies.definitions import Study
from rle.studies.executor import Executor, Job, kind_of
from rle.studies.folder import GIVEN_UP, RECORD, last_words, log_of, record_runs
from rle.studies.local import LocalExecutor, share_of_cores
from rle.studies.mirror import Mirror
from rle.studies.parts import part_of
from rle.studies.progress import study_display
from rle.studies.resources import Resources, parse_memory
from rle.studies.schedule import is_finished, train_all
from rle.studies.worker import work, work_at


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
    address: str | None = None
    """Where its runs are, if that is no folder; `path` then shows how far they are, for a while."""

    @property
    def place(self) -> str:
        """Where its runs are."""
        return self.address or str(self.path)


def study(
    study: str | Path | Study,
    *,
    tasks: Sequence[str] = (),
    methods: Sequence[str] = (),
    seeds: int | None = None,
    first_seed: int = 0,
    total_steps: int | None = None,
    workers: int | None = None,
    out: Path | str | None = None,
    quiet: bool = False,
    only: str | None = None,
    ray: str | None = None,
    cpus_per_run: float | None = None,
    gpus_per_run: float | None = None,
    memory_per_run: str | None = None,
) -> StudyResult:
    """Run what is missing of a study, or of a part of it; starting it again goes on.

    `study` is a name (see `rle list studies`), `module:name`, a TOML file, or a `Study` itself.
    `out` is a folder, or an address that fsspec opens, such as `s3://bucket/name`.
    `seeds` runs of each task and method have the seeds from `first_seed` on.
    `only` is `K/N` for the K-th of N parts of its runs, which other processes may share a folder with.
    `ray` is the address of a Ray cluster, or `local`. `cpus_per_run` (by default as many as it has
    threads), `gpus_per_run` (none) and `memory_per_run` (such as `2GB`) are what a run takes there,
    instead of what the study declares; here, CPUs and memory decide how many run side by side, if
    `workers` does not.
    Call it from under `if __name__ == "__main__":` in a script: it starts processes.
    """
    declared = find_study(study)
    if out is None:
        out = Path("runs") / folder_within(Path("runs"), declared.name)
    takes = _resources(declared.resources, cpus_per_run, gpus_per_run, memory_per_run)
    if ray is not None:
        require(
            workers is None, "workers are processes of this machine: leave them out with --ray."
        )
    else:
        require(not gpus_per_run, "gpus-per-run is for --ray, which shares GPUs out: leave it out.")
    require(first_seed >= 0, f"first-seed is {first_seed}: give 0 or more.")
    require(workers is None or workers > 0, f"workers is {workers}: give a number above 0.")
    mirror = Mirror(out) if is_address(out) else None
    folder = Path(out) if mirror is None else mirror.path
    with contextlib.nullcontext() if mirror is None else mirror.speaking():
        runs = declared.only(tasks, methods).runs(seeds, total_steps, folder, first_seed)
        require(len(runs) > 0, "seeds is 0: give a number above 0.")
        workers = _side_by_side(runs, takes) if workers is None else workers
        if ray is None:
            runs = _compiled_together(runs, workers)
        part = runs if only is None else part_of(runs, only)
        start = partial(_start, mirror, part, takes, workers, ray)
        result = run_all(runs, folder, workers, quiet, part, start)
    return result if mirror is None else dataclasses.replace(result, address=mirror.address)


def _start(
    mirror: Mirror | None,
    part: dict[str, RunConfig],
    takes: Resources,
    workers: int,
    ray: str | None,
    missing: int,
) -> Executor:
    """What carries out the runs of a study."""
    job: Job = work if mirror is None else partial(work_at, mirror.address, mirror.path)
    executor: Executor
    if ray is not None:
        from rle.studies.on_ray import RayExecutor

        cpus = takes.cpus or max(run.machine.threads for run in part.values()) or 1
        executor = RayExecutor(ray, dataclasses.replace(takes, cpus=cpus), job)
    else:
        executor = LocalExecutor(workers, share_of_cores(workers, missing), job)
    return executor if mirror is None else mirror.watched(executor)


def _resources(
    declared: Resources, cpus: float | None, gpus: float | None, bytes_as_text: str | None
) -> Resources:
    """What a run takes: as the study declares, unless it is asked for otherwise."""
    return Resources(
        declared.cpus if cpus is None else cpus,
        declared.gpus if gpus is None else gpus,
        declared.memory if bytes_as_text is None else parse_memory(bytes_as_text),
    )


def _side_by_side(runs: dict[str, RunConfig], takes: Resources) -> int:
    """How many runs fit on the cores, given the threads that each asks for (0: all), and in memory."""
    available = cores()
    widest = takes.cpus or max(run.machine.threads or available for run in runs.values())
    fit = int(available // widest)
    if takes.memory:
        fit = min(fit, memory_bytes() // takes.memory)
    return max(1, fit)


def _compiled_together(runs: dict[str, RunConfig], workers: int) -> dict[str, RunConfig]:
    """The same runs, compiled where all that differ in nothing but their seed are long enough together.

    One process trains one after another, and each of `workers` has to compile once.
    """
    number = Counter(map(kind_of, runs.values()))
    gaining = {
        folder: replace(run, {"compile": "on"})
        for folder, run in runs.items()
        # Images are learned from in micro-batches, whose convolutions gain nothing by being compiled.
        if run.machine.compile == "auto" and run.machine.micro_batch is None
        if pays(run, number[kind_of(run)] / workers)
    }
    return runs | gaining if gaining and compiler_available() else runs


def run_all(
    runs: dict[str, RunConfig],
    out: Path,
    workers: int,
    quiet: bool = False,
    part: dict[str, RunConfig] | None = None,
    start: Callable[[int], Executor] | None = None,
) -> StudyResult:
    """Train every configuration in its folder below `out`, unless it is there already.

    `part` of the `runs` of a study is what is trained here; the others are known to its folder. `start`
    makes what carries them out, given how many are missing; without it, they are processes of this
    machine.
    """
    _check_folder(runs, out)
    make_folder(out, "--out")
    record_runs(out, _totals(runs))
    runs = runs if part is None else part
    started = time.monotonic()
    display = study_display(out, _totals(runs), quiet)
    missing = [folder for folder, run in runs.items() if not is_finished(out / folder, run)]

    def poll(running: Collection[str]) -> None:
        _require_there(out)
        display.poll(running)

    try:
        if start is None:
            executor: Executor = LocalExecutor(workers, share_of_cores(workers, len(missing)), work)
        else:
            executor = start(len(missing))
        # Only now: Ray has a handler of its own.
        with _ended_in_order():
            failed = train_all(runs, out, missing, executor, poll)
    finally:
        display.close()
    finished = tuple(folder for folder, run in runs.items() if is_finished(out / folder, run))
    left = tuple(folder for folder in missing if folder not in {*finished, *failed})
    return StudyResult(out, finished, failed, time.monotonic() - started, display.made, left)


def _require_there(out: Path) -> None:
    """Raise `RunError` if a study's folder is gone: runs would begin anew wherever it was."""
    if not is_file(out / RECORD):
        raise RunError(
            f"{out} is gone, or has no {RECORD} any more, while its runs are trained: bring it back and "
            "start the study again to go on."
        )


def _totals(runs: dict[str, RunConfig]) -> dict[str, int]:
    return {folder: run.total_steps for folder, run in runs.items()}


@contextlib.contextmanager
def _ended_in_order() -> Iterator[None]:
    """Let SIGTERM end the study as Ctrl-C does."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    numbers: list[int] = []

    def end(number: int, frame: object) -> None:
        numbers.append(number)
        raise Interrupted(number)

    previous = signal.signal(signal.SIGTERM, end)
    try:
        yield
    except KeyboardInterrupt as error:
        # Ray makes one of its own of what a handler raises.
        raise (Interrupted(numbers[0]) if numbers else error) from None
    finally:
        signal.signal(signal.SIGTERM, previous)


def what_failed(result: StudyResult) -> str:
    """A sentence about the runs of a study that failed: how many, and what the first has to say."""
    first, *others = result.failed
    log = f"{result.place}/{log_of(Path(first)).as_posix()}"
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
