"""Several tasks together: aggregates against hand-worked ones, and what the reader is told."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rle import stats
from rle.cli import main
from rle.report import report
from rle.report.measure.suites import SuiteResults, measure_suite
from rle.report.measure.training import over_training
from rle.report.read.methods import find_suites, group_runs
from rle.report.read.records import find_runs, read_run
from tests.report.folders import write_run, write_suite

GAMES = {
    "atari/Alien": {"rle": 7000.0, "none": 3000.0},
    "atari/Pong": {"rle": 10.0, "none": -10.0},
    "atari/Breakout": {"rle": 100.0, "none": 200.0},
}


def summary_of(page: Path) -> dict[str, Any]:
    summary: dict[str, Any] = json.loads((page.parent / "summary.json").read_text())
    return summary


def results_of(root: Path) -> SuiteResults:
    """The numbers alone, without drawing anything."""
    groups = group_runs([read_run(path, name) for path, name in find_runs([root])])
    [suite] = find_suites(groups)
    return measure_suite(suite, stats.DEFAULT_BOOTSTRAP)


@pytest.fixture(scope="module")
def atari(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return report([write_suite(tmp_path_factory.mktemp("runs"), GAMES)])


def test_aggregates_are_those_of_the_statistics(atari: Path) -> None:
    suite = summary_of(atari)["suites"]["atari"]
    assert suite["scale"] == "human_normalised"
    assert suite["tasks"] == ["Alien", "Breakout", "Pong"]
    runs = {
        label: {
            task.split("/")[1]: [GAMES[task][key], GAMES[task][key] + 1] for task in sorted(GAMES)
        }
        for label, key in (("RLE", "rle"), ("PPO", "none"))
    }
    scores = {label: stats.Scores.from_runs(label, of) for label, of in runs.items()}
    normalised = {label: stats.human_normalised(of) for label, of in scores.items()}
    for label, of in normalised.items():
        expected = stats.aggregate_interval(stats.interquartile_mean, of)
        found = suite["methods"][label]["iqm"]
        assert (found["mean"], found["low"], found["high"]) == pytest.approx(
            (expected.point, expected.low, expected.high)
        )
        capped = stats.mean(stats.capped_human_normalised(scores[label]).values)
        assert suite["methods"][label]["capped"]["mean"] == pytest.approx(float(capped))
    # RLE wins every pair on two of three games.
    [comparison] = suite["comparisons"]
    assert comparison["probability_of_improvement"]["mean"] == pytest.approx(2 / 3)


def test_every_figure_and_table_is_there(atari: Path) -> None:
    text = atari.read_text()
    shown = ("iqm", "iqm-at-end", "capped", "capped-at-end")
    for name in (*shown, "improvement", "profiles", "learning-curves"):
        for ending in ("svg", "png"):
            assert (atari.parent / "figures" / f"suite-atari-{name}.{ending}").stat().st_size > 1000
        assert f'id="suite-atari-{name}"' in text
    # Of two methods that would say the same once more.
    assert "improvement-over-ppo" not in text
    # PPO is ahead by the IQM and RLE by the capped mean: each is once the next best.
    lines = {"aggregates": 3, "comparisons": 2, "training-needed": 3, "scores": 4}
    for name, number in lines.items():
        csv = (atari.parent / "tables" / f"suite-atari-{name}.csv").read_text()
        assert csv.count("\n") == number
        assert r"\toprule" in (atari.parent / "tables" / f"suite-atari-{name}.tex").read_text()
    assert "expanded for the small number of seeds" in text


def test_the_best_of_a_task_is_bold(atari: Path) -> None:
    latex = (atari.parent / "tables" / "suite-atari-scores.tex").read_text()
    [breakout] = [line for line in latex.splitlines() if "Breakout" in line]
    assert r"\textbf{200.5" in breakout
    assert r"\textbf{100.5" not in breakout


def test_the_plain_interval_is_said_and_is_narrower(tmp_path: Path) -> None:
    root = write_suite(tmp_path / "runs", GAMES)
    assert main(["report", str(root), "--intervals", "percentile", "--out", str(tmp_path)]) == 0
    summary = summary_of(tmp_path / "report.html")
    assert summary["intervals"]["method"] == "percentile"
    assert "plain stratified percentile bootstrap" in (tmp_path / "report.html").read_text()
    iqm = summary["suites"]["atari"]["methods"]["RLE"]["iqm"]
    wide = summary_of(report([root], tmp_path / "wide"))["suites"]["atari"]["methods"]["RLE"]["iqm"]
    assert wide["low"] < iqm["low"] < iqm["high"] < wide["high"]


def test_other_suites_are_normalised_by_ppo(tmp_path: Path) -> None:
    means = {"gym/A-v0": {"rle": 30.0, "none": 9.5}, "gym/B-v0": {"rle": 400.0, "none": 199.5}}
    results = results_of(write_suite(tmp_path, means))
    assert results.scale.key == "ppo_normalised"
    # PPO's own mean is 1 on both; RLE's are 30.5 / 10 and 400.5 / 200.
    assert results.aggregates["PPO"]["mean"].point == pytest.approx(1.0)
    assert results.aggregates["RLE"]["mean"].point == pytest.approx((30.5 / 10 + 400.5 / 200) / 2)


def test_scores_that_cannot_be_normalised_are_plain_and_warned_of(tmp_path: Path) -> None:
    means = {"gym/A-v0": {"rle": -30.0, "none": -90.0}, "gym/B-v0": {"rle": 4.0, "none": -2.0}}
    page = report([write_suite(tmp_path, means)])
    suite = summary_of(page)["suites"]["gym"]
    assert suite["scale"] == "plain"
    assert "rely on the probability of improvement" in page.read_text()
    assert not (page.parent / "figures" / "suite-gym-profiles.svg").exists()


def test_a_task_with_negative_scores_is_left_out_of_averages_only(tmp_path: Path) -> None:
    means = {
        "control/Ant": {"rle": 30.0, "none": 9.5},
        "control/Humanoid": {"rle": 400.0, "none": 199.5},
        "control/ShadowHand": {"rle": -250.0, "none": -300.0},
    }
    root = write_suite(tmp_path, means)
    results = results_of(root)
    assert results.tasks == ("Ant", "Humanoid", "ShadowHand")
    assert results.averaged == ("Ant", "Humanoid")
    # Seeds 0 and 1 add 0 and 1 to each mean: PPO's are 10 and 200.
    assert results.aggregates["RLE"]["mean"].point == pytest.approx((30.5 / 10 + 400.5 / 200) / 2)
    [comparison] = results.comparisons
    assert comparison.improvement.point == 1.0
    page = report([root])
    suite = summary_of(page)["suites"]["control"]
    assert (suite["scale"], suite["averaged_tasks"]) == ("ppo_normalised", ["Ant", "Humanoid"])
    [note] = [note for note in suite["notes"] if "ShadowHand" in note]
    assert note.startswith("Left out of averages over tasks, because the mean score of PPO is not")
    assert "over 2 tasks" in page.read_text()


def test_mixed_tasks_are_told_and_kept_apart(tmp_path: Path) -> None:
    write_suite(tmp_path, GAMES)
    write_suite(tmp_path, {"gym/A-v0": {"rle": 3.0}, "gym/B-v0": {"rle": 4.0}})
    write_run(tmp_path / "grid")
    page = report([tmp_path])
    summary = summary_of(page)
    assert set(summary["suites"]) == {"atari", "gym"}
    assert "different kinds of tasks: atari (3), fourroom (1), gym (2)" in page.read_text()


def test_one_seed_has_no_interval_and_says_so(tmp_path: Path) -> None:
    page = report([write_suite(tmp_path, GAMES, seeds=1)])
    iqm = summary_of(page)["suites"]["atari"]["methods"]["RLE"]["iqm"]
    assert iqm["low"] is None
    assert "one run only on each task" in iqm["note"]
    assert "One seed only for RLE, PPO" in page.read_text()


def test_unequal_seeds_and_nan_scores_are_told(tmp_path: Path) -> None:
    write_suite(tmp_path, GAMES)
    write_run(tmp_path / "more", "rle", "atari/Pong", 2, scores=(12.0, 12.0))
    write_run(tmp_path / "bad", "rle", "atari/Alien", 2, scores=(12.0, float("nan")))
    page = report([tmp_path])
    notes = " ".join(summary_of(page)["suites"]["atari"]["notes"])
    assert "RLE: 1 score is NaN or infinite and cannot be averaged: Alien (1 of 3)." in notes
    assert "RLE: 3 runs per task, but fewer on Alien (2), Breakout (2)" in notes
    text = page.read_text()
    assert "RLE, seed 2: the score of its last episodes is NaN or infinite" in text
    scores = summary_of(page)["tasks"]["atari/Alien"]["methods"][0]["measures"]["score"]
    assert scores["by_seed"] == {"0": 7000.0, "1": 7001.0}


def test_a_method_on_few_tasks_and_an_unknown_game_are_left_out(tmp_path: Path) -> None:
    write_suite(tmp_path, GAMES | {"atari/NoSuchGame": {"rle": 5.0, "none": 4.0}})
    write_run(tmp_path / "rnd", "rnd", "atari/Pong", 0, scores=(1.0, 1.0))
    results = results_of(tmp_path)
    assert list(results.aggregates) == ["RLE", "PPO"]
    assert results.tasks == ("Alien", "Breakout", "Pong")
    notes = " ".join(results.notes)
    assert "RND is left out of the comparison over tasks: it has scores on 1 of 4." in notes
    assert "no human score is known: NoSuchGame" in notes


def test_variants_of_a_strategy_have_a_figure(tmp_path: Path) -> None:
    for task in ("atari/Alien", "atari/Pong"):
        for seed in (0, 1):
            for d in (2, 8):
                folder = tmp_path / task.replace("/", "-") / f"d{d}-{seed}"
                scores = (10.0 * d + seed,) * 2
                write_run(folder, "rle", task, seed, scores=scores, rle__dimension=d)
    page = report([tmp_path])
    assert 'id="suite-atari-variants-rle"' in page.read_text()
    assert 'id="atari-pong-variants-rle"' in page.read_text()
    assert "RLE, d=8" in page.read_text()


def test_a_large_suite_is_shown_together_only(tmp_path: Path) -> None:
    games = list(stats.atari_reference_scores())[:13]
    page = report([write_suite(tmp_path, {f"atari/{g}": {"rle": 1e3, "none": 9e2} for g in games})])
    text = page.read_text()
    assert 'id="atari-alien"' not in text
    assert 'id="suite-atari-runs"' in text
    assert len(summary_of(page)["tasks"]) == 13
    assert np.isfinite(summary_of(page)["suites"]["atari"]["methods"]["RLE"]["iqm"]["mean"])


def test_nothing_in_common_is_told(tmp_path: Path) -> None:
    write_suite(tmp_path, {"atari/Alien": {"rle": 1.0}, "atari/Pong": {"none": 1.0}})
    results = results_of(tmp_path)
    assert results.aggregates == {}
    assert "There is no comparison over tasks: no task has a score of every method" in " ".join(
        results.notes
    )
    assert "The methods have no task in common yet." in report([tmp_path]).read_text()


def write_lengths(root: Path, planned: dict[str, int], made: dict[str, int]) -> SuiteResults:
    """Two seeds of RLE on each task, with metrics every 500 steps."""
    for task, steps in made.items():
        for seed in (0, 1):
            folder = root / f"{task}{seed}"
            coverage = (0.5,) * (steps // 500)
            scores, total = (5.0, 5.0), planned[task]
            write_run(folder, "rle", f"atari/{task}", seed, coverage, scores, total_steps=total)
    return results_of(root)


def test_the_curve_ends_with_the_task_that_is_least_far(tmp_path: Path) -> None:
    planned = {"Alien": 2000, "Pong": 2000}
    results = write_lengths(tmp_path, planned, {"Alien": 2000, "Pong": 1000})
    iqm, _ = over_training(results, stats.DEFAULT_BOOTSTRAP)
    assert iqm.steps == 2000
    grid = iqm.steps * iqm.bands["RLE"].grid
    assert (grid[0], grid[-1]) == (500, 1000)


def test_tasks_of_different_lengths_meet_at_the_end_of_their_training(tmp_path: Path) -> None:
    lengths = {"Alien": 2000, "Pong": 1000}
    iqm, _ = over_training(write_lengths(tmp_path, lengths, lengths), stats.DEFAULT_BOOTSTRAP)
    assert iqm.steps is None
    # Pong's first score, after 500 steps, comes halfway; Alien has its second there.
    grid = iqm.bands["RLE"].grid
    assert (grid[0], grid[-1]) == (0.5, 1.0)
    page = report([tmp_path])
    text = page.read_text()
    assert (
        "All of a task&#39;s training is 100 %, in steps: 1\u00a0k (4\u00a0k frames), Alien 2"
        in text
    )
    assert "% of the training" in text


def test_a_run_that_ends_before_the_others_of_its_task_is_told(tmp_path: Path) -> None:
    planned = {"Alien": 2000, "Pong": 2000}
    write_lengths(tmp_path, planned, planned)
    coverage = (0.5,)
    write_run(tmp_path / "early", "rle", "atari/Pong", 2, coverage, (9.0,), total_steps=2000)
    iqm, _ = over_training(results_of(tmp_path), stats.DEFAULT_BOOTSTRAP)
    assert iqm.notes == (
        "RLE: some runs end before others of their task; their last value is carried on.",
    )


def test_the_presets_own_ppo_is_the_one_to_compare_with(tmp_path: Path) -> None:
    # Found and named first, the other one is not what "over PPO" means.
    for task, base in (("gym/A-v0", 10.0), ("gym/B-v0", 100.0)):
        for seed in (0, 1):
            for explore, discount, score in (("none", 0.5, 4), ("none", 0.99, 2), ("rle", 0.99, 3)):
                write_run(
                    tmp_path / task[4] / f"{explore}-{discount}-{seed}",
                    explore,
                    task,
                    seed,
                    scores=(score * base,),
                    learner__discount=discount,
                )
    results = results_of(tmp_path)
    assert list(results.raw) == ["RLE", "PPO, discount=0.5", "PPO, discount=0.99"]
    assert results.scale.mark == (1.0, "PPO, discount=0.99")
    assert results.aggregates["PPO, discount=0.5"]["mean"].point == pytest.approx(2.0)
    over = {c.first: c.improvement.point for c in results.over_ppo}
    assert {c.second for c in results.over_ppo} == {"PPO, discount=0.99"}
    assert over == {"RLE": 1.0, "PPO, discount=0.5": 1.0}


def test_runs_that_have_just_begun(tmp_path: Path) -> None:
    for task in ("gym/A-v0", "gym/B-v0"):
        run = write_run(tmp_path / task[4], "rle", task, finished=False)
        (run / "metrics.jsonl").unlink()
    page = report([tmp_path])
    [note] = summary_of(page)["suites"]["gym"]["notes"][:1]
    assert note == "RLE is left out of the comparison over tasks: it has scores on 0 of 2."
    assert "RLE, seed 0: has no metrics yet." in page.read_text()
