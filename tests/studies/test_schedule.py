"""Which run is started next, and how often, on an executor that does what it is told."""

import contextlib
import json
import shutil
from collections.abc import Collection
from pathlib import Path

import pytest

from rle.config import RunConfig
from rle.runs.directory import METRICS, RunDirectory
from rle.studies.executor import Ended
from rle.studies.folder import GIVEN_UP, last_words, say_in_log
from rle.studies.running import StudyResult, what_failed
from rle.studies.schedule import train_all
from tests.builders import small_config


class Death(int):
    """The step at which a machine died."""


class ToldExecutor:
    """Ends one run per wait, the oldest first; `ends` says how each does before it finishes.

    A number is a failure of its own, at this step; a `Death` is one of its machine.
    """

    def __init__(self, slots: int, ends: dict[str, list[int]]) -> None:
        self._slots, self._ends = slots, {folder: list(steps) for folder, steps in ends.items()}
        self._active: dict[str, tuple[RunConfig, Path]] = {}
        self.started: list[str] = []
        self.most = 0
        self.stopped = False

    def slots(self) -> int:
        return self._slots

    def submit(self, folder: str, config: RunConfig, path: Path) -> None:
        self._active[folder] = (config, path)
        self.started.append(folder)
        self.most = max(self.most, len(self._active))

    def wait(self, seconds: float) -> list[Ended]:
        if not self._active:
            return []
        folder = next(iter(self._active))
        config, path = self._active.pop(folder)
        if not self._ends.get(folder):
            shutil.rmtree(path, ignore_errors=True)
            RunDirectory.create(path, config).finish({"step": config.total_steps})
            return [Ended(folder)]
        step = self._ends[folder].pop(0)
        path.mkdir(exist_ok=True)
        (path / METRICS).write_text(json.dumps({"step": int(step)}) + "\n")
        if isinstance(step, Death):
            return [Ended(folder, died=True)]
        say_in_log(path, "rle: the dice are lost.")
        return [Ended(folder)]

    def stop(self) -> None:
        self.stopped = True


def ignore(_: Collection[str]) -> None:
    pass


RUNS = {folder: small_config("none", seed=seed) for seed, folder in enumerate("abcd")}


def test_every_run_once_and_no_more_than_fit(tmp_path: Path) -> None:
    executor = ToldExecutor(2, {})
    assert train_all(RUNS, tmp_path, RUNS, executor, ignore) == ()
    assert executor.started == ["a", "b", "c", "d"]
    assert executor.most == 2
    assert executor.stopped


def test_three_attempts_and_the_rest_goes_on(tmp_path: Path) -> None:
    """b fails twice and finishes with its third attempt; c has no fourth."""
    executor = ToldExecutor(1, {"b": [0, 10], "c": [10, 20, 30]})
    assert train_all(RUNS, tmp_path, RUNS, executor, ignore) == ("c",)
    assert executor.started == ["a", "b", "b", "b", "c", "c", "c", "d"]
    assert last_words(tmp_path / "c") == ["rle: the dice are lost."] * 3 + [GIVEN_UP]
    assert last_words(tmp_path / "b")[-1] != GIVEN_UP
    said = what_failed(StudyResult(tmp_path, ("a", "b", "d"), ("c",), 0.0, 0))
    assert said == (
        f"c failed ({tmp_path / 'c-log.txt'}): the dice are lost; start the study again to go on."
    )


def test_dying_machines_do_not_use_up_attempts(tmp_path: Path) -> None:
    """b comes further at least every third time; c does not, after the first."""
    deaths = {"b": [10, 10, 5, 20, 20, 30], "c": [30, 30, 20, 30]}
    executor = ToldExecutor(1, {name: list(map(Death, steps)) for name, steps in deaths.items()})
    assert train_all(RUNS, tmp_path, RUNS, executor, ignore) == ("c",)
    assert executor.started == ["a", *"bbbbbbb", *"cccc", "d"]


def test_a_run_of_ours_whose_machine_is_not_quite_dead_is_waited_for(tmp_path: Path) -> None:
    """It is given up for dead and still holds the lock; two looks later it does not."""
    executor = ToldExecutor(1, {"b": [Death(10)]})
    runs = {folder: RUNS[folder] for folder in "ab"}
    looks = 0
    with contextlib.ExitStack() as machine:

        def look(_: Collection[str]) -> None:
            nonlocal looks
            if executor.started[-1] == "b" and looks == 0:
                machine.enter_context(RunDirectory(tmp_path / "b").locked())
            looks += executor.started[-1] == "b"
            if looks == 3:
                machine.close()

        assert train_all(runs, tmp_path, runs, executor, look) == ()
    assert executor.started == ["a", "b", "b"]
    assert looks == 4


def test_a_run_that_another_process_trains_is_left_to_it(tmp_path: Path) -> None:
    executor = ToldExecutor(2, {})
    with RunDirectory.create(tmp_path / "b", RUNS["b"]).locked():
        assert train_all(RUNS, tmp_path, RUNS, executor, ignore) == ()
    assert executor.started == ["a", "c", "d"]


def test_a_run_that_somebody_else_finished_meanwhile_is_not_started(tmp_path: Path) -> None:
    executor = ToldExecutor(1, {})
    (tmp_path / "d").mkdir()

    def finish_the_last(_: Collection[str]) -> None:
        run = RunDirectory(tmp_path / "d")
        if run.finished() is None:
            RunDirectory.create(run.path, RUNS["d"]).finish({"step": 1024})

    assert train_all(RUNS, tmp_path, RUNS, executor, finish_the_last) == ()
    assert executor.started == ["a", "b", "c"]


def test_an_interruption_stops_the_executor(tmp_path: Path) -> None:
    executor = ToldExecutor(1, {})

    def interrupt(_: Collection[str]) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train_all(RUNS, tmp_path, RUNS, executor, interrupt)
    assert executor.stopped
    assert executor.started == ["a"]
