"""How many cores a process keeps to."""

import os

import pytest

from rle.machine import cores
from rle.studies.local import share_of_cores


def test_a_share_given_by_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RLE_CORES", raising=False)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 5}, raising=False)
    assert cores() == 3
    monkeypatch.setenv("RLE_CORES", "7")
    assert cores() == 7
    for nonsense in ("0", "", "many", "-2"):
        monkeypatch.setenv("RLE_CORES", nonsense)
        assert cores() == 3


@pytest.mark.parametrize(
    ("workers", "missing", "share"), [(64, 500, 1), (64, 4, 16), (3, 500, 21), (64, 0, 64)]
)
def test_runs_of_a_study_share_the_cores(
    workers: int, missing: int, share: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RLE_CORES", "64")
    assert share_of_cores(workers, missing) == share
