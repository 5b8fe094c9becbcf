"""A study in parts, whose processes share a folder and know nothing of each other."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from rle.cli import main
from rle.errors import UsageError
from rle.runs.directory import RunDirectory
from rle.studies import find_study
from rle.studies.parts import part_of

STUDY = """
name = "parts"
tasks = ["fourroom"]
seeds = 3
total_steps = 64

[[methods]]
name = "ppo"
explore = "none"

[methods.settings]
num_envs = 4
rollout_steps = 16
policy_hidden = [8]
value_hidden = [8]
compile = "off"
"""
FOLDERS = [f"fourroom/ppo/seed-{seed}" for seed in range(3)]


def test_every_run_is_in_one_part() -> None:
    runs = {name: number for number, name in enumerate("abcdefg")}
    assert part_of(runs, "1/3") == {"a": 0, "d": 3, "g": 6}
    assert part_of(runs, "2/3") == {"b": 1, "e": 4}
    assert part_of(runs, "3/3") == {"c": 2, "f": 5}
    assert part_of(runs, "1/1") == runs
    assert part_of(runs, "7/7") == {"g": 6}


@pytest.mark.parametrize(
    "only", ["", "1", "0/3", "1/0", "4/3", "1/8", "-1/3", "a/b", "1/3/5", "٣/٣"]
)
def test_no_part(only: str) -> None:
    with pytest.raises(UsageError, match=r"^only is .*\.$"):
        part_of(dict.fromkeys("abcdefg"), only)


def test_no_part_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    assert main(["study", "demo", "--only", "2/1", "--out", str(tmp_path / "out")]) == 2
    assert capsys.readouterr().err == "rle: only is 2/1: there are 1 parts, counted from 1.\n"
    assert not (tmp_path / "out").exists()


def test_processes_that_share_a_folder(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    """Two at a time do every run once; whatever comes after them finds nothing to do."""
    (tmp_path / "parts.toml").write_text(STUDY)
    out = tmp_path / "out"
    line = ["study", str(tmp_path / "parts.toml"), "--workers", "1", "--out", str(out)]
    started = [
        subprocess.Popen(
            [sys.executable, "-m", "rle", *line, "--only", only],
            stdout=subprocess.PIPE,
            text=True,
        )
        for only in ("1/2", "2/2")
    ]
    said = [process.communicate(timeout=300)[0] for process in started]
    assert "2 runs finished" in said[0]
    assert "128 steps in" in said[0]
    assert "1 runs finished" in said[1]
    assert "64 steps in" in said[1]
    for folder in FOLDERS:
        assert json.loads((out / folder / "finished.json").read_text())["step"] == 64
        assert len(RunDirectory.open(out / folder).metrics()) == 1
    # One run is missing, which another process trains at the moment.
    (out / FOLDERS[1] / "finished.json").unlink()
    with RunDirectory.open(out / FOLDERS[1]).locked():
        assert main(line) == 0
    last = capsys.readouterr().out
    assert f"training them: {FOLDERS[1]}\n2 runs finished" in last
    assert "; 0 steps in" in last


def test_the_study_of_this_test_is_valid(tmp_path: Path) -> None:
    (tmp_path / "parts.toml").write_text(STUDY)
    assert list(find_study(tmp_path / "parts.toml").runs()) == FOLDERS
