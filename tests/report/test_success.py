"""Tasks that are judged by their successes, and DeepSea's sizes: numbers by hand."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rle.report import report
from rle.report.measure.depth import Depth, Solving, dithering_steps, measure_depth
from rle.report.measure.suites import measure_suite
from rle.report.measure.training import over_training
from rle.report.read.methods import find_suites, group_runs
from rle.report.read.records import find_runs, read_run
from rle.stats import DEFAULT_BOOTSTRAP
from tests.report.folders import write_run

SCORES = {
    # The last tenth of 5000 steps are five episodes of 100 steps each.
    ("DeepSea-10", "rle"): (0.0, 1.0, 1.0, 1.0, 1.0, 1.0),
    ("DeepSea-10", "none"): (1.0, 0.0, 0.0, 0.0, 0.0, 1.0),
    ("DeepSea-20", "rle"): (0.0, 0.0, 0.0, 0.0, 1.0, 1.0),
    ("DeepSea-20", "none"): (0.0,) * 6,
    ("AntFree", "rle"): (0.0,) * 6,
    ("AntFree", "none"): (0.0,) * 6,
}
COVERAGE = {"rle": 0.75, "none": 0.25}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("runs")
    for (task, explore), scores in SCORES.items():
        for seed in range(2):
            curve = [min(1.0, 0.1 * number * (explore == "rle")) for number in range(10)]
            write_run(
                root / task / explore / f"seed-{seed}",
                explore,
                f"sparse/{task}",
                seed,
                coverage=(COVERAGE[explore],) * 10,
                scores=scores,
                more=[{"score": value} for value in curve],
            )
    return root


@pytest.fixture(scope="module")
def page(runs: Path) -> Path:
    return report([runs])


def test_a_suite_of_successes_is_averaged_as_it_is(page: Path) -> None:
    summary = json.loads((page.parent / "summary.json").read_text())
    suite = summary["suites"]["sparse"]
    assert suite["scale"] == "success"
    assert suite["averaged_tasks"] == ["AntFree", "DeepSea-10", "DeepSea-20"]
    # RLE: (0.75 + 5/5 + 2/5) / 3. PPO: (0.25 + 1/5 + 0) / 3.
    assert suite["methods"]["RLE"]["mean"]["mean"] == pytest.approx(2.15 / 3)
    assert suite["methods"]["PPO"]["mean"]["mean"] == pytest.approx(0.45 / 3)
    [comparison] = suite["comparisons"]
    assert comparison["probability_of_improvement"]["mean"] == 1.0
    assert suite["methods"]["PPO"]["mean"]["low"] >= 0.0


def test_over_training_coverage_takes_the_place_of_success(runs: Path) -> None:
    """PPO's ants have covered 0.25 from the start, and its divers never find anything."""
    groups = group_runs([read_run(path, name) for path, name in find_runs([runs])])
    [suite] = find_suites(groups)
    trainings = over_training(measure_suite(suite, DEFAULT_BOOTSTRAP), DEFAULT_BOOTSTRAP)
    [mean] = [training for training in trainings if training.key == "mean"]
    assert mean.bands["PPO"].point == pytest.approx(0.25 / 3)


def test_tasks_are_judged_by_success_or_by_coverage(page: Path) -> None:
    tasks = json.loads((page.parent / "summary.json").read_text())["tasks"]
    ant = tasks["sparse/AntFree"]["methods"][0]["measures"]
    assert ant["coverage"]["mean"] == 0.75
    sea = tasks["sparse/DeepSea-20"]["methods"][0]["measures"]
    assert sea["success"]["mean"] == pytest.approx(0.4)
    assert "score" not in sea
    table = (page.parent / "tables" / "suite-sparse-scores.csv").read_text()
    assert "0.4" in table


def test_steps_until_solved(runs: Path, page: Path) -> None:
    """RLE's success grows by a tenth every 500 steps from 0 on: 0.5 is in the sixth line."""
    groups = group_runs([read_run(path, name) for path, name in find_runs([runs])])
    [suite] = find_suites(groups)
    rle, ppo = measure_depth(suite)
    assert rle.method == "RLE"
    assert rle.solved == [(10, 3000.0), (20, 3000.0)]
    assert rle.exponent == pytest.approx(0.0, abs=1e-9)
    assert ppo.solved == []
    assert ppo.exponent is None
    assert (page.parent / "figures" / "suite-sparse-depth.svg").stat().st_size > 1000
    csv = (page.parent / "tables" / "suite-sparse-depth.csv").read_text()
    assert csv.splitlines()[1].startswith("RLE,3000.0,2,2,3000.0,2,2,20,")


def test_the_median_needs_half_of_the_seeds() -> None:
    assert Solving(10, 4, (100.0, 200.0)).median == 200.0
    assert Solving(10, 4, (100.0,)).median is None
    assert Solving(10, 3, (100.0, 300.0)).median == 300.0
    assert Solving(10, 1, ()).median is None


def test_the_exponent_of_a_doubling_with_every_n_is_one() -> None:
    sizes = (4, 6, 9)
    depth = Depth("x", tuple(Solving(size, 1, (100 * 2.0**size,)) for size in sizes))
    assert depth.exponent == pytest.approx(1.0)
    assert dithering_steps(4) == 64.0
