"""Runs at a glance."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from rle.cli import main
from rle.runs.directory import FINISHED, RunDirectory
from rle.runs.listing import list_runs
from rle.runs.train import train_config
from tests.builders import small_config


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four runs, of which three have had an accident."""
    root = tmp_path_factory.mktemp("runs")
    config = small_config("none", "fourroom", time_limit=37)
    run = train_config(config, root / "a" / "whole", quiet=True)
    for name in ("stopped", "cut", "lost", "changed"):
        shutil.copytree(run.path, root / name)
    (root / "stopped" / FINISHED).unlink()
    with (root / "cut" / "checkpoints" / f"{1024:012d}.safetensors").open("r+b") as file:
        file.truncate(100)
    (root / "lost" / "metrics.jsonl").unlink()
    (root / "changed" / "config.json").write_text("[]")
    return root


def test_states(runs: Path) -> None:
    lines = {name: line.split() for name, line in list_runs(runs).items()}
    assert {name: line[0] for name, line in lines.items()} == {
        "a/whole": "finished",
        "changed": "damaged",
        "cut": "damaged",
        "lost": "damaged",
        "stopped": "interrupted",
    }
    assert lines["a/whole"][1:4] == ["1,024", "of", "1,024"]
    assert lines["a/whole"][4:6] == ["score", "0.00"]
    size = sum(path.stat().st_size for path in (runs / "a" / "whole").rglob("*") if path.is_file())
    assert lines["a/whole"][6:] == [f"{size / 1000:.1f}", "kB"]
    shown = list_runs(runs)
    assert f"checkpoints/{1024:012d}.safetensors is damaged (it has 100 bytes" in shown["cut"]
    assert "metrics.jsonl is damaged (it has 0 bytes" in shown["lost"]
    assert "config.json is damaged (no object)" in shown["changed"]


def test_a_run_that_is_being_trained(runs: Path) -> None:
    with RunDirectory.open(runs / "stopped").locked():
        assert list_runs(runs / "stopped")["stopped"].startswith("running ")
    assert list_runs(runs / "stopped")["stopped"].startswith("interrupted ")


def test_command(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", "runs", str(runs)]) == 0
    shown = capsys.readouterr()
    assert len(shown.out.splitlines()) == 5
    assert shown.err == ""
    for words, sentence in (
        (["runs", str(runs / "nowhere")], "is not a folder"),
        (["runs", str(runs / "a" / "whole" / "checkpoints")], "there is no run below"),
        (["runs", str(runs / "changed")], "config.json is damaged"),
        (["tasks", str(runs)], "tasks are in no folder"),
        (["rans"], "did you mean 'runs'?"),
    ):
        assert main(["list", *words]) == 2
        said = capsys.readouterr().err
        assert sentence in said
        assert said.count("\n") == 1
