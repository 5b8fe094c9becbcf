"""Parts of a report's work on several cores come out as on one."""

import os
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
