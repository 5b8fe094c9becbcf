"""Progress on a terminal: one line that fits, whatever its width; plain lines elsewhere."""

from __future__ import annotations

import io
import sys

import pytest
from rich.console import Console

from rle.runs.line import LiveLines, ProgressLine, clock, short_number
from rle.runs.progress import Bar, Lines, describe

NOTES = ["score 0.25", "coverage 43.5%", "entropy 1.37"]
LINE = ProgressLine("fourroom-sparse rle seed 0", 1_250_000, 2_500_000, 12_345.0, NOTES)


class Terminal(io.StringIO):
    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


def test_at_80_columns_the_label_makes_room_for_the_numbers() -> None:
    assert LINE.fitted(80).plain == (
        # 79 signs: 68 of numbers with two spaces before each, and 11 of the label.
        "fourroom-s…   50%  12.3k/s  1:41 left  score 0.25  coverage 43.5%  entropy 1.37"
    )


def test_at_120_columns_there_is_a_bar_too() -> None:
    shown = LINE.fitted(120).plain
    assert shown.startswith("fourroom-sparse rle seed 0  ━")
    assert shown.endswith(
        "   50%  1.25M of 2.5M  12.3k/s  1:41 left  score 0.25  coverage 43.5%  entropy 1.37"
    )
    assert len(shown) == 119


@pytest.mark.parametrize("width", range(1, 200, 7))
def test_a_line_never_wraps(width: int) -> None:
    console = Console(file=Terminal(), width=width, force_terminal=True, color_system=None)
    lines = console.render_lines(LINE, console.options)
    assert len(lines) == 1
    assert width < 8 or len(LINE.fitted(width).plain) < width


def test_half_a_bar_is_full() -> None:
    bar = [sign for sign in LINE.fitted(200).plain if sign in "━─"]
    assert bar == ["━"] * 20 + ["─"] * 20


def test_what_is_worth_watching() -> None:
    metrics = {"score": 1.5, "entropy": 0.693, "coverage": 0.5, "success": 0.25, "loss": 3.0}
    assert describe(metrics) == ["score 1.50", "success 25.0%", "coverage 50.0%", "entropy 0.69"]
    assert describe({"score": None}) == []


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0:00"), (185, "3:05"), (3725, "1:02:05"), (172_800, "2d 0h"), (183_600, "2d 3h")],
)
def test_clock(seconds: float, text: str) -> None:
    assert clock(seconds) == text


@pytest.mark.parametrize(
    ("number", "text"),
    [(0, "0"), (999, "999"), (1000, "1k"), (12_345, "12.3k"), (1_250_000, "1.25M"), (4e9, "4G")],
)
def test_short_numbers(number: float, text: str) -> None:
    assert short_number(number) == text


@pytest.mark.parametrize("no_color", ["", "1"])
def test_a_bar_on_a_terminal(no_color: str, monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stdout", terminal)
    monkeypatch.setenv("NO_COLOR", no_color)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "100")
    bar = Bar("fourroom rle seed 0", 0, 1000)
    bar.update(500, {"score": 0.5})
    bar.close()
    shown = terminal.getvalue()
    assert "score 0.50" in shown
    assert "500 of 1k" in shown
    assert ("\033[38;5;" in shown) == (not no_color)


def test_more_runs_than_lines_leave_the_total_in_sight(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", Terminal())
    monkeypatch.setenv("LINES", "5")
    monkeypatch.setenv("TERM", "xterm")
    lines = [ProgressLine(str(number), 0, 1, 0.0) for number in range(9)]
    live = LiveLines(lambda: lines)
    live.close()
    assert live._shown().renderables == lines[-4:]


def test_plain_lines(capsys: pytest.CaptureFixture[str]) -> None:
    lines = Lines("fourroom rle seed 0", 0, 1000)
    lines.update(500, {"score": 0.5})  # Too soon after the last.
    lines.update(1000, {"score": 0.5})
    shown = capsys.readouterr().out
    assert shown.count("\n") == 1
    assert shown.startswith("fourroom rle seed 0: 1,000 of 1,000 steps, ")
    assert shown.endswith(" 0 s left, score 0.50\n")
