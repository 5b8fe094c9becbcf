"""How far a study is, from its files alone."""

import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from rle import study_status
from rle.cli import main
from rle.errors import UsageError
from rle.runs.directory import METRICS, RunDirectory
from rle.studies.folder import GIVEN_UP, RECORD, RECORD_LOCK, record_runs, recorded_runs, say_in_log
from tests.builders import small_config

CONFIG = small_config("none", total_steps=1000)


def begun(path: Path, *lines: tuple[int, float]) -> RunDirectory:
    """A run that logged steps and seconds, two minutes ago."""
    run = RunDirectory.create(path, CONFIG)
    metrics = [json.dumps({"step": step, "seconds": seconds}) for step, seconds in lines]
    (path / METRICS).write_text("".join(f"{line}\n" for line in metrics))
    os.utime(path / METRICS, (time.time() - 120,) * 2)
    return run


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """Five runs, of which one is in each state but running."""
    record_runs(tmp_path, dict.fromkeys(("done", "alive", "bad", "broken-off", "none"), 1000))
    begun(tmp_path / "done", (1000, 4.0)).finish({"step": 1000})
    # Went on after the second line: 400 steps in the last 8 seconds.
    begun(tmp_path / "alive", (100, 50.0), (200, 60.0), (300, 2.0), (500, 5.0), (700, 10.0))
    begun(tmp_path / "bad", (100, 1.0))
    say_in_log(tmp_path / "bad", "rle: the dice are lost.")
    say_in_log(tmp_path / "bad", GIVEN_UP)
    begun(tmp_path / "broken-off", (200, 1.0))
    return tmp_path


def test_every_state(out: Path) -> None:
    with RunDirectory.open(out / "alive").locked():
        found = study_status(out)
    states = {run.folder: run.state for run in found.runs}
    assert states == {
        "done": "done",
        "alive": "running",
        "bad": "failed",
        "broken-off": "interrupted",
        "none": "missing",
    }
    assert set(found.counts.values()) == {1}
    assert found.steps == 1000 + 700 + 100 + 200
    assert found.steps_left == 300 + 900 + 800 + 1000
    assert found.steps_per_second == 400 / 8.0
    assert found.seconds_left == 3000 / 50.0
    assert [run.log for run in found.runs if run.log] == [out / "bad-log.txt"]


def test_nothing_is_running(out: Path) -> None:
    assert study_status(out).counts["interrupted"] == 2
    assert study_status(out).seconds_left is None


def test_a_run_whose_lock_is_not_seen_is_running_while_its_log_grows(out: Path) -> None:
    (out / "alive" / METRICS).touch()
    assert study_status(out).counts["running"] == 1


def test_a_run_that_failed_and_is_tried_again_is_not_failed(out: Path) -> None:
    with RunDirectory.open(out / "bad").locked():
        assert study_status(out).counts["failed"] == 0
    say_in_log(out / "bad", "another attempt")
    assert study_status(out).counts["failed"] == 0


def test_a_run_that_was_stopped_early_has_no_steps_left(out: Path) -> None:
    RunDirectory.open(out / "broken-off").finish({"step": 200, "stopped": "enough"})
    assert study_status(out).steps_left == 300 + 900 + 1000


def test_on_the_command_line_without_pytorch(out: Path) -> None:
    script = f"""
import sys
from rle.cli import main
assert main(["study", "status", {str(out)!r}]) == 0
print("torch" in sys.modules)
"""
    with RunDirectory.open(out / "alive").locked():
        found = subprocess.run(
            [sys.executable, "-c", script], capture_output=True, text=True, check=True
        )
    assert found.stdout.splitlines() == [
        f"{out}: 5 runs: 1 done, 1 running, 1 failed, 1 interrupted, 1 missing",
        "2,000 of 5,000 steps, 50 steps/s, about 60 s left",
        "running  alive  700 of 1,000 steps, 50 steps/s",
        f"failed   bad  see {out / 'bad-log.txt'}",
        "False",
    ]


def test_a_study_file_called_status_is_a_study(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("status.toml").write_text("name = 3")
    assert main(["study", "status.toml"]) == 2
    assert capsys.readouterr().err.startswith("rle: status.toml, ")


@pytest.mark.parametrize(
    ("record", "sentence"),
    [
        (None, "is not a study's folder"),
        ("{", "study.json is damaged"),
        ('{"schema": 2, "runs": {}}', "has the schema 2, and this version of the program knows 1"),
        ('{"schema": 1, "runs": {"a": "b"}}', "names no runs"),
    ],
)
def test_no_study(record: str | None, sentence: str, tmp_path: Path) -> None:
    if record is not None:
        (tmp_path / RECORD).write_text(record)
    with pytest.raises(UsageError, match=sentence):
        study_status(tmp_path)


def test_a_record_keeps_what_others_asked_for(tmp_path: Path) -> None:
    """Eight at once: none is lost."""
    threads = [
        threading.Thread(target=record_runs, args=(tmp_path, {f"run-{number}": number}))
        for number in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert recorded_runs(tmp_path) == {f"run-{number}": number for number in range(8)}
    assert {path.name for path in tmp_path.iterdir()} == {RECORD, RECORD_LOCK}


def test_a_damaged_record_is_written_anew(tmp_path: Path) -> None:
    (tmp_path / RECORD).write_text("{")
    record_runs(tmp_path, {"a": 1})
    assert recorded_runs(tmp_path) == {"a": 1}
