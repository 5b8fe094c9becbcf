"""Which run is started next, and how often, on an executor that does what it is told."""

from collections.abc import Collection
from pathlib import Path

import pytest

from rle.config import RunConfig
from rle.runs.directory import RunDirectory
from rle.studies.folder import GIVEN_UP, last_words, say_in_log
from rle.studies.running import StudyResult, what_failed
from rle.studies.schedule import train_all
from tests.builders import small_config


class ToldExecutor:
    """Ends one run per wait, the oldest first; `deaths` says how often each dies before it finishes."""

    def __init__(self, slots: int, deaths: dict[str, int]) -> None:
        self._slots, self._deaths = slots, dict(deaths)
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

    def wait(self, seconds: float) -> list[str]:
        folder = next(iter(self._active))
        config, path = self._active.pop(folder)
        if self._deaths.get(folder, 0) > 0:
            self._deaths[folder] -= 1
            path.parent.mkdir(parents=True, exist_ok=True)
            say_in_log(path, "rle: the dice are lost.")
        else:
            RunDirectory.create(path, config).finish({"step": config.total_steps})
        return [folder]

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
    """b dies twice and finishes with its third attempt; c has no fourth."""
    executor = ToldExecutor(1, {"b": 2, "c": 3})
    assert train_all(RUNS, tmp_path, RUNS, executor, ignore) == ("c",)
    assert executor.started == ["a", "b", "b", "b", "c", "c", "c", "d"]
    assert last_words(tmp_path / "c") == ["rle: the dice are lost."] * 3 + [GIVEN_UP]
    assert last_words(tmp_path / "b")[-1] != GIVEN_UP
    said = what_failed(StudyResult(tmp_path, ("a", "b", "d"), ("c",), 0.0, 0))
    assert said == (
        f"c failed ({tmp_path / 'c-log.txt'}): the dice are lost; start the study again to go on."
    )


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
