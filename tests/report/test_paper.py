"""The paper's numbers rebuilt, and ours beside them with the steps behind each."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from rle.cli import main
from rle.report import report
from rle.report.measure.paper import paper_aggregates
from tests.report.folders import write_run, write_suite


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return report(out=tmp_path_factory.mktemp("paper"), paper=True)


def test_aggregates_follow_from_the_table() -> None:
    found = paper_aggregates()
    expected = {
        "rle": (1.460, 0.742),
        "ppo": (1.106, 0.680),
        "rnd": (0.967, 0.620),
        "noisynet": (0.858, 0.609),
    }
    assert {m: (round(a.iqm, 3), round(a.capped, 3)) for m, a in found.items()} == expected
    # Ties count for both, so that there are at least as many winners as games.
    assert sum(a.won for a in found.values()) >= 57


def test_the_report_needs_no_runs(page: Path) -> None:
    summary = json.loads((page.parent / "summary.json").read_text())
    assert summary["paper"]["methods"]["rle"]["iqm"] == pytest.approx(1.460, abs=5e-4)
    assert len(summary["paper"]["games"]) == 57
    assert summary["tasks"] == {}
    for ending in ("svg", "png"):
        assert (page.parent / "figures" / f"paper-bars.{ending}").exists()
    text = page.read_text()
    assert "RLE 1.460 and 0.742; PPO 1.106 and 0.680" in text
    assert "40\u00a0M (160\u00a0M frames)" in text


def test_published_probabilities_of_improvement(page: Path) -> None:
    table = (page.parent / "tables" / "paper-aggregates.csv").read_text()
    rows = {row["method"]: row for row in csv.DictReader(table.splitlines())}
    over = {method: row["published_improvement"] for method, row in rows.items()}
    assert over == {"RLE": "", "PPO": "0.67", "RND": "0.71", "NoisyNet": "0.72"}
    over_ppo = {method: row["published_over_ppo"] for method, row in rows.items()}
    assert over_ppo == {"RLE": "0.67", "PPO": "", "RND": "0.38", "NoisyNet": "0.35"}


def test_winners_are_bold(page: Path) -> None:
    latex = (page.parent / "tables" / "paper-scores.tex").read_text()
    rows = [line for line in latex.splitlines() if "frames" in line and "&" in line]
    assert len(rows) == 57
    assert all(r"\textbf{" in row for row in rows)
    [alien] = [row for row in rows if "Alien" in row]
    assert r"\textbf{1\,680.13}" in alien


def test_ours_beside_the_paper_with_the_steps_of_each(tmp_path: Path) -> None:
    write_suite(
        tmp_path, {"atari/Alien": {"rle": 900.0, "none": 800.0}, "atari/Pong": {"rle": 3.0}}
    )
    page = report([tmp_path], paper=True)
    [alien, pong] = csv.DictReader(
        (page.parent / "tables" / "paper-beside.csv").read_text().splitlines()
    )
    assert float(alien["ours_RLE"]) == 900.5
    assert float(alien["ours_RLE_steps"]) == 1000
    assert float(alien["paper_rle"]) == 1680.13
    assert float(alien["paper_rle_steps"]) == 40_000_000
    assert pong["ours_PPO"] == ""
    text = page.read_text()
    assert "1\u202f680 @ 40\u00a0M" in text
    assert "@ 1\u00a0k" in text
    note = "Ours were trained for 1\u00a0k (4\u00a0k frames), the paper&#39;s for 40\u00a0M"
    assert note in text
    # Only Alien has both of our methods.
    aggregates = (page.parent / "tables" / "paper-beside-aggregates.csv").read_text().splitlines()
    assert [line.split(",")[0] for line in aggregates[1:]] == ['"RLE', '"RLE', '"PPO', '"PPO']
    assert {row["games"] for row in csv.DictReader(aggregates)} == {"1"}


def test_runs_of_other_tasks_are_told(tmp_path: Path) -> None:
    write_run(tmp_path / "grid")
    text = report([tmp_path], paper=True).read_text()
    assert "None of the runs given is on one of the 57 games" in text


def test_command(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    assert main(["report", "--paper", "--out", str(tmp_path)]) == 0
    assert (tmp_path / "report.html").exists()
    assert main(["report"]) == 2
    assert "or ask for --paper" in capsys.readouterr().err


def test_a_folder_without_runs_is_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    assert main(["report", str(tmp_path)]) == 2
    error = capsys.readouterr().err
    assert "there is no run below" in error
    assert error.count("\n") == 1
