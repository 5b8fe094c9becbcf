"""Processes of a study: how they are started, and what they know of the one that started them."""

from __future__ import annotations

import itertools
import json
import os
import sys
from pathlib import Path

import pytest

from rle.config import RunConfig
from rle.presets import preset_config
from rle.settings import replace
from rle.studies.executor import IN_LOG, Ended
from rle.studies.local import LocalExecutor

HAD_PYTORCH = "torch" in sys.modules
"""Whether it was there when this module, which does not need it, was imported."""


def tell(config: RunConfig, path: Path, share: int) -> None:
    path.write_text(json.dumps([HAD_PYTORCH, os.getppid(), os.environ.get("TOLD"), share]))


def told(name: str, path: Path, executor: LocalExecutor) -> list[object]:
    """What the process of a run wrote to `path`."""
    executor.submit(name, preset_config("fourroom", "rle"), path)
    ended = []
    while not ended:
        ended = executor.wait(60.0)
    assert [(each.folder, each.died) for each in ended] == [(name, False)]
    return json.loads(path.read_text())


@pytest.mark.skipif(sys.platform != "linux", reason="copies of processes are made on Linux only")
def test_runs_begin_with_pytorch_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    executor = LocalExecutor(1, 3, tell)
    monkeypatch.delenv("TOLD", raising=False)
    had_pytorch, parent, heard, share = told("one", tmp_path / "one", executor)
    assert had_pytorch
    assert parent != os.getpid()
    assert (heard, share) == (None, 3)
    # The next is a copy of the same process, but hears what is said now.
    monkeypatch.setenv("TOLD", "now")
    assert told("two", tmp_path / "two", executor) == [True, parent, "now", 3]


def name_process(config: RunConfig, path: Path, share: int) -> str | None:
    """Writes which process it is; seed 1 fails with a word in its log, seed 2 kills the process."""
    path.write_text(json.dumps(os.getpid()))
    if config.seed == 2:
        os._exit(9)
    return IN_LOG if config.seed == 1 else None


def process_of(executor: LocalExecutor, config: RunConfig, path: Path, died: bool = False) -> int:
    executor.submit(path.name, config, path)
    ended: list[Ended] = []
    while not ended:
        ended = executor.wait(60.0)
    assert ended == [Ended(path.name, died)]
    return int(json.loads(path.read_text()))


def test_a_process_that_has_compiled_is_given_another_run(tmp_path: Path) -> None:
    executor = LocalExecutor(1, 1, name_process)
    compiled = replace(preset_config("fourroom", "rle"), {"compile": "on"})
    names = (tmp_path / str(number) for number in itertools.count())

    def process(settings: dict[str, object], died: bool = False) -> int:
        return process_of(executor, replace(compiled, settings), next(names), died)

    first = process({})
    # Whatever the run, as long as it asks for the same threads on the same device.
    assert process({"seed": 3, "total_steps": 4096, "checkpoint_every": 4096}) == first
    assert process({"threads": 2}) != first
    second = process({})
    assert second != first
    # Where one has failed, the next had better not be.
    assert process({"seed": 1}) == second
    third = process({})
    assert third not in (first, second)
    assert process({"seed": 2}, died=True) == third
    assert process({}) != third
    # Others have a process each.
    assert process({"compile": "off"}) != process({"compile": "off"})
    executor.stop()


def test_the_next_run_goes_where_its_like_was_compiled(tmp_path: Path) -> None:
    executor = LocalExecutor(2, 1, name_process)
    rle, ppo = (
        replace(preset_config("fourroom", explore), {"compile": "on"})
        for explore in ("rle", "none")
    )
    for number, config in enumerate((rle, ppo)):
        executor.submit(str(number), config, tmp_path / str(number))
    ended: list[Ended] = []
    while len(ended) < 2:
        ended += executor.wait(60.0)
    of_rle, of_ppo = (json.loads((tmp_path / str(number)).read_text()) for number in (0, 1))
    assert of_rle != of_ppo
    assert process_of(executor, replace(ppo, {"seed": 3}), tmp_path / "2") == of_ppo
    assert process_of(executor, replace(rle, {"seed": 4}), tmp_path / "3") == of_rle
    executor.stop()
