"""Processes of a study: how they are started, and what they know of the one that started them."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from rle.config import RunConfig
from rle.presets import preset_config
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
