"""Each figure of the paper on Atari and control, from runs of the study that makes it, by hand."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rle.report import report
from rle.report.draw.figures import CurveFigure, EstimateFigure, Figure
from rle.report.draw.style import assign_styles
from rle.report.measure.measures import measure_task
from rle.report.measure.suites import SuiteResults, measure_suite
from rle.report.measure.training import over_training
from rle.report.read.methods import find_suites, group_runs
from rle.report.read.records import find_runs, read_run
from rle.report.write.suite import suite_section
from rle.stats import Bootstrap, atari_reference_scores
from rle.studies import find_study
from tests.report.folders import write_study

BOOTSTRAP = Bootstrap(resamples=50)
Score = Callable[[str, str, int], float]

GAMES = ("atari/Alien", "atari/MontezumaRevenge", "atari/Pong")
HUMAN_NORMALISED = {
    "rle": (0.4, 0.6, 2.0),
    "ppo": (0.3, 0.1, 0.5),
    "rnd": (0.35, 0.92, 0.2),
    "noisynet": (-0.5, 0.05, 0.55),
    "rle-frozen-features": (0.4, 0.05, 0.4),
}
"""On the games, at the end, of both seeds."""

ROBOTS = ("control/Ant", "control/Humanoid", "control/ShadowHand")
RETURNS = {
    "rle": ((140, 180), (220, 200), (-5, -11)),
    "ppo": ((90, 110), (200, 200), (-10, -12)),
    "ppo-scaled-reward": ((50, 60), (100, 120), (-8, -9)),
    "rnd": ((100, 120), (150, 210), (-20, -30)),
    "rle-shallow-features": ((120, 130), (190, 210), (-11, -13)),
    "rle-frozen-features": ((100, 80), (199, 190), (-9, -9)),
    "white-noise": ((10, 20), (10, 20), (-90, -80)),
}
"""On the robots, at the end, by seed."""


def atari_score(task: str, method: str, seed: int) -> float:
    reference = atari_reference_scores()[task.removeprefix("atari/")]
    share = HUMAN_NORMALISED.get(method, HUMAN_NORMALISED["rle"])[GAMES.index(task)]
    return reference.random + share * (reference.human - reference.random)


def control_score(task: str, method: str, seed: int) -> float:
    return RETURNS[method][ROBOTS.index(task)][seed]


def measured(root: Path) -> tuple[SuiteResults, dict[str, Figure]]:
    """The numbers of the only suite below a folder, and its figures, drawn by nobody."""
    groups = group_runs([read_run(path, name) for path, name in find_runs([root])])
    [suite] = find_suites(groups)
    results = measure_suite(suite, BOOTSTRAP)
    of_tasks = {group.task: measure_task(group, {}, BOOTSTRAP) for group in groups}
    trainings = over_training(results, BOOTSTRAP)
    styles = assign_styles(suite.labels)
    section = suite_section(results, trainings, of_tasks, styles, BOOTSTRAP, with_details=False)
    return results, {f"{section.identity}-{figure.name}": figure for figure in section.figures}


def study_figures(
    root: Path, name: str, tasks: tuple[str, ...], score: Score
) -> tuple[SuiteResults, dict[str, Figure]]:
    return measured(write_study(root, find_study(name).only(tasks), score))


def rows(figure: Figure) -> dict[str, float]:
    assert isinstance(figure, EstimateFigure)
    return {row.label: row.interval.point for row in figure.rows}


@pytest.fixture(scope="module")
def atari_runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("atari57")
    return write_study(root, find_study("atari57").only(GAMES), atari_score)


@pytest.fixture(scope="module")
def atari(atari_runs: Path) -> dict[str, Figure]:
    return measured(atari_runs)[1]


@pytest.fixture(scope="module")
def control(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Figure]:
    root = tmp_path_factory.mktemp("control9")
    return study_figures(root, "control9", ROBOTS, control_score)[1]


def test_every_method_over_ppo_on_atari(atari: dict[str, Figure]) -> None:
    # RLE is above PPO on all three games, RND on two, NoisyNet on one.
    found = rows(atari["suite-atari-improvement-over-ppo"])
    assert found == pytest.approx({"RLE": 1.0, "RND": 2 / 3, "NoisyNet": 1 / 3})
    # RLE over each baseline: RND is above it on MontezumaRevenge.
    found = rows(atari["suite-atari-improvement"])
    assert found == pytest.approx({"over PPO": 1.0, "over RND": 2 / 3, "over NoisyNet": 1.0})


def test_capped_scores_over_training(atari: dict[str, Figure]) -> None:
    figure = atari["suite-atari-capped"]
    assert isinstance(figure, CurveFigure)
    curves = {series.label: series for series in figure.series}
    # At the end RLE's 2.0 on Pong counts as 1, and NoisyNet's -0.5 on Alien as 0.
    ends = {label: series.values[-1] for label, series in curves.items()}
    assert ends == pytest.approx({"RLE": 2.0 / 3, "PPO": 0.3, "RND": 0.49, "NoisyNet": 0.2})
    assert rows(atari["suite-atari-capped-at-end"]) == pytest.approx(ends)
    # Scores grow evenly: after a quarter 0.1, 0.15 and 0.5, after half 0.2, 0.3 and 1.
    rle = curves["RLE"]
    assert (rle.steps[0], rle.steps[-1]) == (25, 100)
    assert rle.values[0] == pytest.approx(0.75 / 3)
    assert rle.values[rle.steps < 50] == pytest.approx(0.25)
    assert rle.values[(rle.steps > 50) & (rle.steps < 75)] == pytest.approx(0.5)
    # MontezumaRevenge is as far in its longer training as the others in theirs.
    assert figure.x_label == "% of the training (40\u00a0M to 200\u00a0M steps)"
    longer = "40\u00a0M (160\u00a0M frames), MontezumaRevenge 200\u00a0M (800\u00a0M frames)"
    assert longer in figure.caption


def test_training_needed_for_the_next_best(atari_runs: Path, tmp_path: Path) -> None:
    page = report([atari_runs], tmp_path, bootstrap=BOOTSTRAP)
    table = (tmp_path / "tables" / "suite-atari-training-needed.csv").read_text()
    found = {row["method"]: row for row in csv.DictReader(table.splitlines())}
    # RLE has 0.5 after half of its training, where RND ends with 0.49. RND has 0.3675 after three
    # quarters and PPO 0.225, where PPO ends with 0.3 and NoisyNet with 0.2.
    expected = {
        "RLE": ("RND", 0.49, 0.5),
        "RND": ("PPO", 0.3, 0.75),
        "PPO": ("NoisyNet", 0.2, 0.75),
    }
    assert set(found) == set(expected)
    for method, (rival, level, share) in expected.items():
        row = found[method]
        assert row["capped_rival"] == rival
        assert float(row["capped_level"]) == pytest.approx(level)
        # A curve has 81 points.
        assert share <= float(row["capped_share"]) < share + 0.01
    assert float(found["RLE"]["capped_steps_min"]) == pytest.approx(20e6, rel=0.01)
    assert float(found["RLE"]["capped_steps_max"]) == pytest.approx(100e6, rel=0.01)
    assert "50 % (20.1\u00a0M to 101\u00a0M steps) for RND: 0.490" in page.read_text()
    summary = json.loads((tmp_path / "summary.json").read_text())["suites"]["atari"]
    [first, *_] = summary["training_needed"]["capped"]
    assert (first["method"], first["rival"]) == ("RLE", "RND")
    assert [c["first"] for c in summary["over_ppo"]] == ["RLE", "RND", "NoisyNet"]
    for name in ("capped", "capped-at-end", "improvement-over-ppo", "iqm-at-end"):
        for ending in ("svg", "png"):
            file = tmp_path / "figures" / f"suite-atari-{name}.{ending}"
            assert file.stat().st_size > 1000


def test_every_method_over_ppo_on_control(control: dict[str, Figure]) -> None:
    # Shares of pairs of runs won on Ant, Humanoid and ShadowHand. RLE wins 4 of 4, then 2 of 4 with
    # two ties, then 3 of 4.
    assert rows(control["suite-control-improvement-over-ppo"]) == pytest.approx(
        {
            "RLE": (1 + 0.75 + 0.75) / 3,
            "PPO, reward scaling": (0 + 0 + 1) / 3,
            "RND": (0.75 + 0.5 + 0) / 3,
        }
    )
    over = rows(control["suite-control-improvement"])
    assert set(over) == {
        "over PPO, no reward scaling",
        "over PPO, reward scaling",
        "over RND",
    }
    # RND: 4 of 4; 220 and 200 against 150 and 210 win 3 of 4; 4 of 4.
    assert over["over RND"] == pytest.approx((1 + 0.75 + 1) / 3)


def test_mean_and_iqm_of_the_ppo_normalised_score(control: dict[str, Figure]) -> None:
    # PPO's means are 100 and 200; ShadowHand's is negative and left out. RLE has 1.4 and 1.8 on Ant,
    # 1.1 and 1.0 on Humanoid: their mean is 1.325, that of the middle two 1.25.
    mean = rows(control["suite-control-mean-at-end"])
    iqm = rows(control["suite-control-iqm-at-end"])
    assert mean["RLE"] == pytest.approx(1.325)
    assert iqm["RLE"] == pytest.approx(1.25)
    assert mean["PPO, no reward scaling"] == pytest.approx(1.0)
    assert mean["PPO, reward scaling"] == pytest.approx((0.55 + 0.55) / 2)
    assert mean["RND"] == pytest.approx((1.1 + 0.9) / 2)
    for key, ends in (("mean", mean), ("iqm", iqm)):
        figure = control[f"suite-control-{key}"]
        assert isinstance(figure, CurveFigure)
        assert {s.label: s.values[-1] for s in figure.series} == pytest.approx(ends)
        assert "100\u00a0M, Humanoid 200\u00a0M" in figure.caption
    # Halfway RLE has half of it: returns grow evenly from 0.
    figure = control["suite-control-mean"]
    assert isinstance(figure, CurveFigure)
    rle = figure.series[0]
    assert rle.values[(rle.steps > 50) & (rle.steps < 75)] == pytest.approx(1.325 / 2)


def test_another_architecture_of_the_features(tmp_path: Path) -> None:
    results, figures = study_figures(tmp_path, "control9-phi", ROBOTS, control_score)
    shallow, frozen = "RLE, φ (256, 128), φ frozen", "RLE, φ frozen"
    assert list(results.raw) == ["RLE", shallow, frozen, "PPO"]
    # On Ant 4 of 4, on Humanoid 190 and 210 against 200 twice: 2 of 4, on ShadowHand -11 and -13
    # against -10 and -12: 1 of 4. Frozen: 1 of 4 (100 > 90), 0, 4 of 4.
    assert rows(figures["suite-control-improvement-over-ppo"]) == pytest.approx(
        {"RLE": 2.5 / 3, shallow: (1 + 0.5 + 0.25) / 3, frozen: (0.25 + 0 + 1) / 3}
    )
    # Of 1.2 and 1.3 on Ant, 0.95 and 1.05 on Humanoid the middle two.
    iqm = rows(figures["suite-control-iqm-at-end"])
    assert iqm[shallow] == pytest.approx((1.05 + 1.2) / 2)
    assert rows(figures["suite-control-variants-rle"]) == pytest.approx(
        {label: iqm[label] for label in ("RLE", shallow, frozen)}
    )


def test_features_that_follow_or_not(tmp_path: Path) -> None:
    _, figures = study_figures(tmp_path, "atari57-phi", GAMES, atari_score)
    following, frozen = "RLE, φ follows V (τ=0.005)", "RLE, φ frozen"
    # Frozen features are above PPO on Alien only.
    over = rows(figures["suite-atari-improvement-over-ppo"])
    assert over == pytest.approx({following: 1.0, frozen: 1 / 3})
    # Twice 0.4, 0.6 and 2.0 without the lowest and the highest; then twice 0.4, 0.05 and 0.4.
    iqm = rows(figures["suite-atari-iqm-at-end"])
    assert iqm[following] == pytest.approx((0.4 + 0.6 + 0.6 + 2.0) / 4)
    assert iqm[frozen] == pytest.approx((0.05 + 0.4 + 0.4 + 0.4) / 4)
    training = figures["suite-atari-iqm"]
    assert isinstance(training, CurveFigure)
    assert [series.label for series in training.series] == [following, frozen, "PPO"]
    assert curves_of(figures["suite-atari-learning-curves"]) == {
        "Alien": 3,
        "MontezumaRevenge": 3,
        "Pong": 3,
    }


def curves_of(figure: Any) -> dict[str, int]:
    """How many methods each small figure has."""
    return {panel.title: len(panel.series) for panel in figure.panels}


@pytest.mark.parametrize(
    ("study", "tasks", "methods"),
    [
        ("atari-latent-distribution", ("atari/Alien", "atari/Venture"), 4),
        ("atari-latent-dimension", ("atari/Alien", "atari/Venture"), 6),
        ("atari-conditioning", ("atari/Alien", "atari/Venture"), 3),
        ("control9-white-noise", ROBOTS, 3),
        ("control9-phi-desktop", ROBOTS, 4),
        ("control9-desktop", ROBOTS, 4),
    ],
)
def test_learning_curves_of_every_method(
    tmp_path: Path, study: str, tasks: tuple[str, ...], methods: int
) -> None:
    def score(task: str, method: str, seed: int) -> float:
        return 100.0 + len(method) + seed

    _, figures = study_figures(tmp_path, study, tasks, score)
    suite = tasks[0].split("/")[0]
    grid = figures[f"suite-{suite}-learning-curves"]
    assert curves_of(grid) == {task.split("/")[1]: methods for task in tasks}
    over = figures[f"suite-{suite}-improvement-over-ppo"]
    assert len(rows(over)) == methods - 1
