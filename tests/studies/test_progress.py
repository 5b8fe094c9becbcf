"""A study's progress counts the work done, also the work done twice."""

import json
from pathlib import Path

import pytest

from rle.runs.directory import METRICS
from rle.studies.progress import StudyDisplay


def log(run: Path, *steps: int) -> None:
    run.mkdir(exist_ok=True)
    lines = [json.dumps({"step": step}) + "\n" for step in steps]
    (run / METRICS).write_text("".join(lines), encoding="utf-8")


def test_a_run_that_falls_back_to_its_checkpoint_does_not_count_as_negative_work(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log(tmp_path / "resumed", 100, 350)
    log(tmp_path / "finished", 500)
    display = StudyDisplay(tmp_path, {"resumed": 500, "finished": 500, "new": 500}, "lines")
    assert display.made == 0
    log(tmp_path / "resumed", 100, 250)  # Its metrics are cut back to the checkpoint's step.
    display.close()
    assert display.made == 0
    assert "1 of 3 runs done, 750 of 1,500 steps, 0 steps/s, starting" in capsys.readouterr().out
    log(tmp_path / "resumed", 100, 250, 400)
    log(tmp_path / "new", 60)
    display.close()
    assert display.made == 150 + 60
    assert "960 of 1,500 steps" in capsys.readouterr().out


def test_a_silent_display_counts_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    display = StudyDisplay(tmp_path, {"run": 500}, "silent")
    log(tmp_path / "run", 200)
    display.close()
    assert display.made == 200
    assert capsys.readouterr().out == ""


def test_a_line_for_each_run_that_is_running(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 100.0
    monkeypatch.setattr("rle.studies.progress.time.monotonic", lambda: now)
    folders = {
        "fourroom/rle/seed-0": 1000,
        "fourroom/ppo/seed-1": 1000,
        "fourroom/rle/seed-2": 1000,
    }
    display = StudyDisplay(tmp_path, folders, "bar")
    running = list(folders)[:2]
    (tmp_path / "fourroom" / "rle").mkdir(parents=True)
    log(tmp_path / "fourroom/rle/seed-0", 200)
    display.poll(running)
    now = 110.0
    log(tmp_path / "fourroom/rle/seed-0", 200, 700)
    display.poll(running)
    first, second, total = display._lines
    display.close()
    assert (first.label, first.step, first.total) == ("fourroom rle seed 0", 700, 1000)
    assert first.rate == 50.0  # 500 steps in the ten seconds since it was first seen
    assert (second.label, second.step, second.rate) == ("fourroom ppo seed 1", 0, 0.0)
    assert (total.label, total.step, total.total, total.rate) == ("0 of 3 runs", 700, 3000, 70.0)
    assert [line.label for line in display._lines] == ["0 of 3 runs"]
