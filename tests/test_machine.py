"""How many cores a process keeps to, and how its threads wait for each other."""

import os
import re
import subprocess
import sys

import pytest

from rle.machine import WAITING, cores
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


@pytest.mark.parametrize(("given", "heard"), [(None, "PASSIVE"), ("active", "ACTIVE")])
def test_threads_sleep_while_they_wait(given: str | None, heard: str) -> None:
    """OpenMP itself says what it heard: PyTorch is loaded after the variable is set."""
    script = "from rle.cli import main\nmain(['list', 'strategies'])\nimport torch"
    environment = {name: value for name, value in os.environ.items() if name != WAITING}
    environment |= {"OMP_DISPLAY_ENV": "true"} | ({} if given is None else {WAITING: given})
    said = subprocess.run(
        [sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True
    )
    found = re.search(r"OMP_WAIT_POLICY ?= ?'(\w+)'", said.stderr)
    assert found is not None
    assert found[1] == heard
