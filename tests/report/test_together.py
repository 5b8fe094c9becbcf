"""Parts of a report's work on several cores come out as on one."""

import gc
import os
import signal
import subprocess
import sys
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

import pytest

from rle.machine import SHARE
from rle.report.build import report
from rle.report.together import FEWEST, each
from rle.runs.train import train_config
from tests.builders import small_config


@pytest.fixture(params=["1", "2"])
def several(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    monkeypatch.setenv(SHARE, request.param)
    return request.param == "2"


def test_results_are_in_the_order_of_the_parts(several: bool) -> None:
    found = each(lambda number: (number * number, os.getpid()), range(20))
    assert [square for square, _ in found] == [number**2 for number in range(20)]
    elsewhere = {process for _, process in found} - {os.getpid()}
    assert bool(elsewhere) == several


def test_few_parts_are_not_worth_a_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SHARE, "2")
    assert each(lambda _: os.getpid(), range(FEWEST - 1)) == [os.getpid()] * (FEWEST - 1)


def test_what_a_part_raises_is_raised(several: bool) -> None:
    with pytest.raises(ZeroDivisionError):
        each(lambda number: 1 // number, range(FEWEST))


def test_a_part_does_not_start_processes_of_its_own(several: bool) -> None:
    def inner(_: int) -> set[int]:
        return set(each(lambda _: os.getpid(), range(FEWEST)))

    assert all(len(found) == 1 for found in each(inner, range(FEWEST)))


def test_a_part_whose_process_is_killed_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SHARE, "2")
    with pytest.raises(BrokenProcessPool):
        each(lambda _: os.kill(os.getpid(), signal.SIGKILL), range(FEWEST))


class Loop:
    """Reachable from itself alone: only the garbage collector finds that nobody has it any more."""

    def __init__(self, notes: Path) -> None:
        self.itself, self.notes = self, notes

    def __del__(self) -> None:
        (self.notes / str(os.getpid())).touch()


def test_a_copy_does_not_clear_away_what_it_is_a_copy_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An engine's threads, for one: there are none in the copy to be ended, which ended that."""
    monkeypatch.setenv(SHARE, "2")
    gc.disable()
    try:
        Loop(tmp_path)
        each(lambda _: gc.collect(), range(FEWEST))
        assert not list(tmp_path.iterdir())
        gc.collect()
    finally:
        gc.enable()
    assert [path.name for path in tmp_path.iterdir()] == [str(os.getpid())]


THREADS_FIRST = """
import sys, torch
torch.set_num_threads(2)
torch.rand(512, 512) @ torch.rand(512, 512)  # OpenMP's threads run from here on
from rle.report.build import report
report(sys.argv[1:2], sys.argv[2])
"""


def test_agents_are_watched_by_copies_of_a_process_with_threads(tmp_path: Path) -> None:
    """A copy has none of its parent's threads: PyTorch would wait for them for ever."""
    for seed in range(FEWEST):
        train_config(small_config("rle", "fourroom", seed=seed), tmp_path / "runs" / str(seed))
    program = [sys.executable, "-c", THREADS_FIRST, str(tmp_path / "runs"), str(tmp_path / "out")]
    subprocess.run(program, timeout=180, check=True, env={**os.environ, SHARE: "2"})
    assert all((tmp_path / "runs" / str(s) / "trajectories").is_dir() for s in range(FEWEST))


def test_a_report_is_the_same_whoever_draws_and_watches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folders = {}
    for share in ("1", "2"):
        monkeypatch.setenv(SHARE, share)
        for number, explore in enumerate(("rle", "none", "noisy", "rle")):
            config = small_config(explore, "fourroom", seed=number, time_limit=20)
            train_config(config, tmp_path / share / f"{explore}-{number}")
        page = report([tmp_path / share], tmp_path / f"report-{share}")
        folders[share] = page.parent
    names = sorted(path.name for path in (folders["1"] / "figures").iterdir())
    assert len(names) > 2 * FEWEST
    for name in names:
        one, two = (folders[share] / "figures" / name for share in ("1", "2"))
        assert one.read_bytes() == two.read_bytes(), name
    kept = sorted((tmp_path / "2" / "rle-0" / "trajectories").iterdir())
    assert kept
    for file in kept:
        assert (
            file.read_bytes()
            == (tmp_path / "1" / "rle-0" / "trajectories" / file.name).read_bytes()
        )
