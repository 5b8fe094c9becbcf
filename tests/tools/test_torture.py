"""A small version of `make torture`, and that the torture would notice what it is there to notice."""

import json
import random
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from tools.torture import soak
from tools.torture.command import Ended
from tools.torture.comparison import differences, missing_or_left
from tools.torture.damage import Run, _judge
from tools.torture.ways import ANY, OF_FOLDERS, OF_JSON, OF_LINES, Way, link_beside, ways_for

ROOT = Path(__file__).parent.parent.parent
ROWS = [{"iteration": number, "value": float("nan"), "seconds": 0.1} for number in range(4)]


def a_run(path: Path) -> Path:
    """What a finished run holds, made by hand."""
    for folder in ("checkpoints", "artefacts"):
        (path / folder).mkdir(parents=True)
    for log in ("metrics.jsonl", "episodes.jsonl"):
        (path / log).write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    for record in ("config.json", "spec.json", "finished.json"):
        (path / record).write_text(json.dumps({"step": 64, "seconds": 1.5}))
    tree = json.dumps({"weight": {"$tensor": "/weight"}, "iteration": 4})
    save_file({"/weight": torch.ones(3)}, path / "checkpoints" / "064.safetensors", {"tree": tree})
    return path


@pytest.fixture
def pair(tmp_path: Path) -> tuple[Path, Path]:
    return a_run(tmp_path / "whole"), a_run(tmp_path / "run")


def test_runs_that_differ_in_their_clocks_alone_are_equal(pair: tuple[Path, Path]) -> None:
    whole, run = pair
    later = "".join(json.dumps(row | {"seconds": 7.0}) + "\n" for row in ROWS)
    (run / "metrics.jsonl").write_text(later)
    (run / "finished.json").write_text(
        json.dumps({"step": 64, "seconds": 9, "steps_per_second": 2})
    )
    assert differences(whole, run) == []
    assert missing_or_left(whole, run) == []


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        (ROWS[1:], "1 lost"),
        ([*ROWS, ROWS[0], ROWS[0]], "2 doubled"),
        ([*ROWS[:3], {"iteration": 9}], "1 lost, 1 different"),
        ([ROWS[1], ROWS[0], *ROWS[2:]], "another order"),
    ],
)
def test_rows_are_counted(pair: tuple[Path, Path], rows: list[dict[str, float]], said: str) -> None:
    whole, run = pair
    (run / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert differences(whole, run) == [f"rows of metrics.jsonl: {said}"]


def test_one_bit_of_a_checkpoint_is_a_difference(pair: tuple[Path, Path]) -> None:
    whole, run = pair
    path = run / "checkpoints" / "064.safetensors"
    data = bytearray(path.read_bytes())
    data[-1] ^= 128  # of the last number: its sign
    path.write_bytes(data)
    assert load_file(path)["/weight"].tolist() == [1, 1, -1]
    assert differences(whole, run) == ["1 other tensors in checkpoints, such as /weight"]


def test_files_that_are_missing_or_left_over_are_named(pair: tuple[Path, Path]) -> None:
    whole, run = pair
    (run / "config.json").rename(run / "config.json.partial")
    assert missing_or_left(whole, run) == [
        "there is no config.json",
        "config.json.partial was left over",
    ]
    (run / "spec.json").unlink()
    assert [text.partition(":")[0] for text in differences(whole, run)] == ["unreadable"]


@pytest.mark.parametrize(
    "way", dict.fromkeys(ANY + OF_LINES + OF_JSON), ids=lambda way: way.__name__
)
def test_every_way_damages(way: Way, tmp_path: Path) -> None:
    run, outside = a_run(tmp_path / "run"), tmp_path / "outside.txt"
    outside.write_text("precious")
    path = run / ("config.json" if way in OF_JSON else "metrics.jsonl")
    before = path.read_bytes()
    for seed in range(20):
        way(path, random.Random(seed), outside)
        whole = path.is_file() and not path.is_symlink() and path.read_bytes() == before
        if not whole or way is link_beside:
            break
    else:
        pytest.fail("as it was")
    assert outside.read_text() == "precious"


def test_a_link_takes_the_place_of_a_file_that_was_being_written(tmp_path: Path) -> None:
    run, outside = a_run(tmp_path / "run"), tmp_path / "outside.txt"
    for name in ("spec.json.partial", "spec.partial"):
        (run / name).write_text("half")
    link_beside(run / "spec.json", random.Random(0), outside)
    assert [path.readlink() for path in run.glob("*.partial") if path.is_symlink()] == [outside]


def test_folders_are_not_damaged_as_files_are() -> None:
    assert ways_for(ROOT) == OF_FOLDERS
    assert set(OF_JSON) <= set(ways_for(Path("config.json")))


@pytest.mark.parametrize(
    ("ended", "kind"),
    [
        (Ended(0, "finished: run\n", ""), "silently wrong"),
        (Ended(0, "finished: run\n", "warning: it fell back.\n"), "recovered"),
        (Ended(0, "it fell back.\nfinished: run\n", ""), "recovered"),
        (Ended(2, "", "rle: it is damaged: restore it.\n"), "sentence"),
        (Ended(2, "", ""), "no sentence"),
        (Ended(2, "", "rle: it is damaged\nand more\n"), "no sentence"),
        (Ended(1, "", "rle: the disk is full: make room.\n"), "sentence"),
        (Ended(1, "", "Traceback (most recent call last):\nKeyError: 1\n"), "traceback"),
        (Ended(-11, "", ""), "traceback"),
        (Ended(None, "task rle seed 0: 5 of 9,999 steps\n", ""), "hangs"),
    ],
)
def test_what_a_verb_did_with_a_damaged_run_is_judged(
    ended: Ended, kind: str, pair: tuple[Path, Path]
) -> None:
    whole, run = pair
    (run / "metrics.jsonl").write_text("")
    undamaged = Run("name", whole, {}, {"resume": whole}, frozenset({"finished: run"}))
    assert _judge(undamaged, "resume", ended, run.parent).kind == kind


def test_a_check_that_finds_a_problem_has_not_failed(pair: tuple[Path, Path]) -> None:
    whole, run = pair
    undamaged = Run("name", whole, {}, {"check": None}, frozenset({"problem score"}))
    found = Ended(1, "problem score\n", "")
    assert _judge(undamaged, "check", found, run.parent).kind == "equal"
    warned = Ended(1, "problem score\n", "warning: a log is damaged.\n")
    assert _judge(undamaged, "check", warned, run.parent).kind == "recovered"


def torture(*arguments: str, before: str = "") -> subprocess.CompletedProcess[str]:
    """In a process of its own, since it forks; `before` changes the package first."""
    call = f"from tools.torture.__main__ import main\nraise SystemExit(main({arguments}))"
    return subprocess.run(
        [sys.executable, "-c", f"{before}\n{call}"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )


def test_killed_runs_end_as_uninterrupted_ones(tmp_path: Path) -> None:
    done = torture("kills", "--kills", "4", "--out", str(tmp_path / "out"))
    assert done.returncode == 0, done.stdout + done.stderr


def test_damaged_runs_recover_or_say_a_sentence(tmp_path: Path) -> None:
    done = torture(
        "damage", "--damages", "1", "--subjects", "cartpole", "--out", str(tmp_path / "out")
    )
    assert done.returncode == 0, done.stdout + done.stderr


FORGETFUL = """
from rle.runs.trainer import Trainer
load = Trainer.load_state_dict
def load_all_but_a_bit(self, state):
    load(self, state)
    self.learner.optimiser.flat.view(-1)[0] += 1e-3
Trainer.load_state_dict = load_all_but_a_bit
"""


def test_a_resumed_run_that_forgets_something_fails(tmp_path: Path) -> None:
    out = tmp_path / "out"
    done = torture(
        "kills", "--kills", "3", "--subjects", "cartpole", "--out", str(out), before=FORGETFUL
    )
    assert done.returncode == 1, done.stdout + done.stderr
    assert "other tensors in checkpoints" in done.stdout
    kept = next(out.rglob("history.txt"))
    assert "killed it" in kept.read_text()
    assert (kept.parent / "run" / "config.json").exists()


@pytest.mark.slow
def test_two_minutes_of_torture(tmp_path: Path) -> None:
    done = torture(
        "--kills", "20", "--damages", "2", "--lines", "200", "--out", str(tmp_path / "out")
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_memory_that_is_missing_for_moments_is_no_growth() -> None:
    def samples(first: list[float], last: list[float]) -> list[soak.Sample]:
        middle = [100.0] * 80
        return [
            soak.Sample(1, 10.0 * number, size, number)
            for number, size in enumerate([*first, *middle, *last])
        ]

    dips = samples([100.0] * 6 + [80.0] * 4, [100.0] * 10)
    assert soak.growth(dips, 0.0) == (100.0, 100.0)
    assert soak.growth(samples([100.0] * 10, [102.0] * 10), 0.0) == (100.0, 102.0)
    # What had not settled yet does not count.
    assert soak.growth(samples([50.0] * 10, [100.0] * 10), 100.0) == (100.0, 100.0)
