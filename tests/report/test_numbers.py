"""The numbers of a report against ones worked out by hand from the run files."""

from __future__ import annotations

import csv
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rle.report import report
from rle.report.measure.play import cells_of
from rle.report.measure.reach import diversity_of, jaccard_distances
from rle.report.read.records import success_at_end
from rle.stats import difference_interval, mean_interval
from rle.tasks import fourroom
from tests.report.folders import write_run


def read_summary(page: Path) -> dict[str, Any]:
    summary: dict[str, Any] = json.loads((page.parent / "summary.json").read_text())
    return summary


@pytest.fixture(scope="module")
def two_methods(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("runs")
    write_run(root / "a", "rle", seed=0, coverage=(0.5, 0.9))
    write_run(root / "b", "rle", seed=1, coverage=(0.5, 0.7))
    write_run(root / "deep" / "c", "none", seed=0, coverage=(0.2, 0.3))
    write_run(root / "deep" / "d", "none", seed=1, coverage=(0.4, 0.5))
    return report([root])


def test_means_differences_and_their_intervals(two_methods: Path) -> None:
    task = read_summary(two_methods)["tasks"]["fourroom"]
    rle, ppo = task["methods"]
    assert (rle["label"], ppo["label"]) == ("RLE", "PPO")
    assert rle["seeds"] == [0, 1]
    assert rle["steps"] == 1000
    coverage = rle["measures"]["coverage"]
    assert coverage["by_seed"] == {"0": 0.9, "1": 0.7}
    assert coverage["mean"] == pytest.approx(0.8)
    expected = mean_interval([0.9, 0.7], (0.0, 1.0))
    assert (coverage["low"], coverage["high"]) == expected.limits
    # The entropy in the files is four times the coverage; the rate is in finished.json.
    assert ppo["measures"]["visitation_entropy"]["mean"] == pytest.approx(4 * 0.4)
    assert ppo["measures"]["steps_per_second"]["mean"] == 500.0
    [difference] = task["differences"]
    assert (difference["first"], difference["second"]) == ("RLE", "PPO")
    found = difference["measures"]["coverage"]
    assert found["mean"] == pytest.approx(0.8 - 0.4)
    limits = difference_interval([0.9, 0.7], [0.3, 0.5], (0.0, 1.0)).limits
    assert (found["low"], found["high"]) == limits


def test_tables_have_the_numbers_of_the_summary(two_methods: Path) -> None:
    methods = read_summary(two_methods)["tasks"]["fourroom"]["methods"]
    path = two_methods.parent / "tables" / "fourroom-measures.csv"
    rows = list(csv.DictReader(path.read_text().splitlines()))
    assert [row["method"] for row in rows] == ["RLE", "PPO"]
    for row, method in zip(rows, methods, strict=True):
        for ending, key in (("", "mean"), ("_low", "low"), ("_high", "high")):
            assert float(row[f"coverage{ending}"]) == method["measures"]["coverage"][key]
    page = two_methods.read_text()
    for method in methods:
        assert f"{method['measures']['coverage']['mean']:.3f} [" in page


def test_success_counts_only_the_end(tmp_path: Path) -> None:
    # Of 1000 steps the last tenth begins after step 900: one of two episodes there succeeded.
    steps_and_scores = [(100, 0.0), (900, 0.0), (901, 1.0), (1000, 0.0)]
    lines = [json.dumps({"step": step, "score": score}) for step, score in steps_and_scores]
    log = tmp_path / "episodes.jsonl"
    log.write_text("\n".join(lines) + "\n")
    assert success_at_end(log, 1000) == 0.5
    log.write_text("\n".join(lines[:2]) + "\n")
    assert success_at_end(log, 1000) is None
    assert success_at_end(tmp_path / "absent", 1000) is None


def test_success_on_the_sparse_task(tmp_path: Path) -> None:
    task = "fourroom-sparse"
    # 1000 steps: only the episode that ends at step 1000 lies in the last tenth.
    write_run(tmp_path / "a", "rle", task, seed=0, scores=(0.0, 0.0, 1.0))
    write_run(tmp_path / "b", "rle", task, seed=1, scores=(1.0, 1.0, 0.0))
    write_run(tmp_path / "c", "none", task, seed=0, scores=(0.0, 0.0, 0.0))
    page = report([tmp_path])
    rle, ppo = read_summary(page)["tasks"][task]["methods"]
    assert rle["measures"]["success"]["by_seed"] == {"0": 1.0, "1": 0.0}
    assert rle["measures"]["success"]["mean"] == 0.5
    assert rle["seeds_with_success"] == 1
    assert ppo["seeds_with_success"] == 0
    assert "1 of 2" in page.read_text()


def cells(*trajectories: list[int]) -> Any:
    return np.array(trajectories).T


def test_jaccard_distance_by_hand() -> None:
    # {1, 2, 3} and {2, 3, 4}: two of four cells are shared.
    distances = jaccard_distances(cells([1, 2, 3, 3], [2, 3, 4, 4], [7, 8, 9, 7]))
    assert distances[0, 1] == pytest.approx(1 - 2 / 4)
    assert distances[0, 2] == 1.0
    assert np.allclose(np.diag(distances), 0.0)
    assert np.allclose(distances, distances.T)


def test_diversity_keeps_action_noise_apart() -> None:
    # Two z, two trajectories each. Within a z: {1, 2} and {1, 3} share one of three cells;
    # {5, 6} and {5, 6} are the same. Between: nothing is shared.
    trajectories = cells([1, 2], [1, 3], [5, 6], [6, 5])
    found = diversity_of(trajectories, np.array([0, 0, 1, 1]))
    assert found.within == pytest.approx(((1 - 1 / 3) + 0) / 2)
    assert found.between == 1.0


def test_diversity_without_latents_is_action_noise() -> None:
    found = diversity_of(cells([1, 2], [1, 3], [1, 2]), None)
    assert found.between is None
    # Pairs: 2/3, 0, 2/3.
    assert found.within == pytest.approx((2 / 3 + 0 + 2 / 3) / 3)


def test_cells_of_observations_with_a_television() -> None:
    view = fourroom.coordinates().double().numpy()

    def seen(row: int, column: int) -> Any:
        return view[fourroom.cell_index(row, column)]

    noise = np.array([0.1234, -0.777])
    path = np.stack([seen(0, 50), seen(12, 36), noise, noise, seen(12, 39)])[:, None]
    found = [divmod(cell, fourroom.SIZE) for cell in cells_of(path, (12, 37))[:, 0]]
    assert found == [(0, 50), (12, 36), (12, 37), (12, 37), (12, 39)]


def first_chart(page: Path) -> Any:
    """What the page's script knows of the first curve figure."""
    [chart] = json.loads(
        page.read_text().partition('<script type="application/json">')[2].partition("</script>")[0]
    )
    return chart


def test_with_few_seeds_a_curve_is_the_mean_and_every_seed(two_methods: Path) -> None:
    rle = first_chart(two_methods)["series"][0]
    assert rle["label"] == "RLE (2 seeds)"
    assert rle["steps"] == [500, 1000]
    assert rle["values"] == [0.5, 0.8]
    assert rle["single"] == [[0.5, 0.9], [0.5, 0.7]]
    assert rle["low"] is rle["high"] is None
    assert "thin lines are the single seeds" in two_methods.read_text()
    assert "bands are 95 %" not in two_methods.read_text()


def test_from_four_seeds_on_a_curve_is_the_mean_and_its_interval(tmp_path: Path) -> None:
    finals = (0.9, 0.7, 0.6, 0.8)
    for seed, final in enumerate(finals):
        write_run(tmp_path / str(seed), seed=seed, coverage=(0.5, final))
    page = report([tmp_path])
    rle = first_chart(page)["series"][0]
    assert rle["values"] == [0.5, 0.75]
    expected = mean_interval(finals, (0.0, 1.0))
    assert (rle["low"][1], rle["high"][1]) == pytest.approx(expected.limits, rel=1e-3)
    assert rle["single"] == []
    assert "bands are 95 %" in page.read_text()
    assert "thin lines" not in page.read_text()


def test_a_seed_that_ends_early_is_drawn_as_far_as_it_goes(tmp_path: Path) -> None:
    write_run(tmp_path / "a", seed=0, coverage=(0.1, 0.2, 0.3), total_steps=1500)
    write_run(tmp_path / "b", seed=1, coverage=(0.3, 0.4), total_steps=1500, finished=False)
    rle = first_chart(report([tmp_path]))["series"][0]
    # Its last value counts in the mean, and its own line ends.
    assert rle["values"] == pytest.approx([0.2, 0.3, 0.35])
    assert rle["single"] == [[0.1, 0.2, 0.3], [0.3, 0.4]]


def test_summary_has_no_nan(tmp_path: Path) -> None:
    write_run(tmp_path / "a", coverage=(0.5, math.nan))
    page = report([tmp_path])
    text = (page.parent / "summary.json").read_text()
    assert "NaN" not in text.replace("are NaN or infinite", "")
    measures = json.loads(text)["tasks"]["fourroom"]["methods"][0]["measures"]
    assert measures["coverage"]["mean"] == 0.5
