"""Long logs are thinned and read from their end, and say the same as when read whole."""

from __future__ import annotations

import json
from pathlib import Path

from rle.report.read.records import last_lines, score_at_end, thinned_lines


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
