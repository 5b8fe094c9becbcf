"""Long logs are thinned and read from their end, and say the same as when read whole."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import rle
from rle.report.read.lines import doubtful_episodes, last_lines, thinned_lines
from rle.report.read.records import read_run, score_at_end


def write_lines(path: Path, number: int) -> Path:
    lines = [json.dumps({"step": step, "score": float(step)}) for step in range(number)]
    path.write_text("".join(line + "\n" for line in lines))
    return path


def test_a_short_log_is_read_whole(tmp_path: Path) -> None:
    found = thinned_lines(write_lines(tmp_path / "log", 7), most=7)
    assert [line["step"] for line in found.lines] == list(range(7))
    assert not found.cut_short


def test_a_long_log_is_thinned_evenly_with_both_ends(tmp_path: Path) -> None:
    found = thinned_lines(write_lines(tmp_path / "log", 101), most=5)
    assert [line["step"] for line in found.lines] == [0, 25, 50, 75, 100]


def test_a_long_log_with_nan_is_read_whole(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "log", 100)
    path.write_text(path.read_text().replace("33.0", "NaN"))
    assert len(thinned_lines(path, most=5).lines) == 100


def test_a_last_line_cut_short_is_told(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "log", 3)
    path.write_text(path.read_text() + '{"step": 3, "sc')
    found = thinned_lines(path)
    assert len(found.lines) == 3
    assert found.cut_short
    assert len(last_lines(path, 9)) == 3


def test_a_broken_line_between_those_that_are_kept_is_found(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "log", 100)
    path.write_text(path.read_text().replace('{"step": 33, "score": 33.0}', '{"step": 33, "sco'))
    found = thinned_lines(path, most=5)
    assert len(found.lines) == 99
    assert found.damaged == 1


def test_last_lines_of_long_and_short_files(tmp_path: Path) -> None:
    # 20 000 lines are longer than the block that is read first, and 9 000 of them too.
    path = write_lines(tmp_path / "log", 20_000)
    for number in (1, 128, 9_000, 30_000):
        expected = list(range(20_000))[-number:]
        assert [line["step"] for line in last_lines(path, number)] == expected
    assert last_lines(tmp_path / "absent", 3) == []
    assert thinned_lines(tmp_path / "absent") == ([], 0, False)


def test_the_score_is_the_mean_of_the_last_128_episodes(tmp_path: Path) -> None:
    # Of 0 ... 999 the last 128 are 872 ... 999, whose mean is 935.5.
    assert score_at_end(write_lines(tmp_path / "log", 1000)) == 935.5
    assert score_at_end(write_lines(tmp_path / "few", 3)) == 1.0
    assert score_at_end(tmp_path / "absent") is None


def logs_of(folder: Path, counts: list[int], kept: int) -> None:
    """Metrics that count episodes, and the first `kept` of these."""
    (folder / "metrics.jsonl").write_text(
        "".join(
            json.dumps({"iteration": i, "step": i, "episodes": count}) + "\n"
            for i, count in enumerate(counts)
        )
    )
    episodes = [i for i, count in enumerate(counts) for _ in range(count)]
    (folder / "episodes.jsonl").write_text(
        "".join(
            json.dumps({"iteration": i, "step": i, "score": 1.0}) + "\n" for i in episodes[:kept]
        )
    )


def test_episodes_that_are_missing_at_the_end_are_told(tmp_path: Path) -> None:
    """Behind the last checkpoint no checksum would tell."""
    for kept, missing in ((5, False), (4, True), (3, True), (0, True)):
        logs_of(tmp_path, [3, 0, 2, 0], kept)
        assert bool(doubtful_episodes(tmp_path)) is missing, kept
    logs_of(tmp_path, [0, 0], 0)
    assert not doubtful_episodes(tmp_path)


def test_a_score_that_was_changed_is_told(tmp_path: Path) -> None:
    """The mean of 1, 1 and 4 is 2."""
    (tmp_path / "metrics.jsonl").write_text(
        json.dumps({"iteration": 1, "step": 1, "episodes": 3, "score": 2.0}) + "\n"
    )
    for last, told in ((4.0, False), (5.0, True)):
        (tmp_path / "episodes.jsonl").write_text(
            "".join(
                json.dumps({"iteration": 1, "step": 1, "score": score}) + "\n"
                for score in (1.0, 1.0, last)
            )
            # Not yet in the metrics.
            + json.dumps({"iteration": 2, "step": 2, "score": 100.0})
            + "\n"
        )
        assert bool(doubtful_episodes(tmp_path)) is told


@pytest.mark.parametrize("wrong", [{"episodes": "3"}, {"episodes": [3]}, {"score": float("nan")}])
def test_metrics_that_say_nothing_of_episodes_are_passed_over(
    tmp_path: Path, wrong: dict[str, object]
) -> None:
    line = {"iteration": 1, "step": 1, "episodes": 1, "score": 1.0} | wrong
    (tmp_path / "metrics.jsonl").write_text(json.dumps(line) + "\n")
    episode = {"iteration": 1, "step": 1, "score": 1.0}
    (tmp_path / "episodes.jsonl").write_text(json.dumps(episode) + "\n")
    assert doubtful_episodes(tmp_path) == []


def test_a_checkpoint_that_was_removed_is_told(tmp_path: Path) -> None:
    run = rle.train(
        "fourroom", "none", out=tmp_path / "run", total_steps=512, checkpoint_every=256,
        num_envs=8, rollout_steps=16, quiet=True, compile="off",
    )  # fmt: skip
    assert not any("gone" in note for note in read_run(run.path, "run").notes)
    (run.path / "checkpoints" / "000000000512.safetensors").unlink()
    assert "the checkpoint at step 512 is gone." in read_run(run.path, "run").notes
