"""What runs recorded beside their results is shown, whoever logged it."""

from __future__ import annotations

from pathlib import Path

import pytest

from rle.report import report
from rle.report.draw.curves import diagnostics_figure
from rle.report.draw.style import assign_styles
from rle.report.measure.curves import diagnostics_of
from rle.report.read.methods import TaskGroup, group_runs
from rle.report.read.records import read_run
from rle.stats import DEFAULT_BOOTSTRAP
from tests.report.folders import write_run

LOGGED = {
    "count_mean": 3.0,  # of a strategy that nobody here knows
    "entropy": 1.0,
    "approximate_kl": 0.01,
    "clip_fraction": 0.1,
    "policy_loss": -0.1,
    "gradient_norm": 2.0,
    "value_loss_count": 0.5,
    "advantage_share_count": 0.7,
    "explained_variance_count": 0.9,
    "bonus_count_mean": 0.2,
    "bonus_count_std": 0.2,
    "bonus_count_max": 0.9,
    "latent_sensitivity": 0.5,
    "a_word": "never",
    "visitation_entropy_max": 7.8,
}


def group_of(root: Path, runs: dict[str, list[dict[str, object]]]) -> TaskGroup:
    records = [
        read_run(write_run(root / explore, explore, more=more), explore)
        for explore, more in runs.items()
    ]
    [group] = group_runs(records)
    return group


def test_those_to_watch_come_first_and_unknown_ones_last(tmp_path: Path) -> None:
    group = group_of(tmp_path, {"rle": [LOGGED, LOGGED]})
    assert diagnostics_of(group) == [
        "latent_sensitivity",
        "bonus_count_mean",
        "explained_variance_count",
        "advantage_share_count",
        "entropy",
        "approximate_kl",
        "count_mean",
    ]


def test_a_panel_has_the_methods_that_recorded_it(tmp_path: Path) -> None:
    runs = {
        "rle": [{"entropy": 1.0}, {"entropy": 0.5, "count_mean": 4.0}],
        "none": [{"entropy": 0.9}, {"entropy": 0.7}],
        "random": [{}, {}],
    }
    group = group_of(tmp_path, runs)
    styles = assign_styles(method.label for method in group.methods)
    figure = diagnostics_figure(group, styles, DEFAULT_BOOTSTRAP)
    assert figure is not None
    found = {
        panel.title: {one.label: one.values.tolist() for one in panel.series}
        for panel in figure.panels
    }
    assert found == {
        "entropy": {"RLE (1 seed)": [1.0, 0.5], "PPO (1 seed)": [0.9, 0.7]},
        # Recorded once, at the second line.
        "count_mean": {"RLE (1 seed)": [4.0]},
    }
    assert figure.panels[1].series[0].steps.tolist() == [1000.0]
    # Random actions have nothing to show, and no entry in the legend.
    assert [label for label, _ in figure.legend] == ["RLE", "PPO"]


def test_rare_values_do_not_flatten_the_rest(tmp_path: Path) -> None:
    values = [-1000.0, *[0.1 * number for number in range(60)]]
    run = write_run(
        tmp_path / "run", coverage=(0.5,) * 61, more=[{"entropy": value} for value in values]
    )
    [group] = group_runs([read_run(run, "run")])
    figure = diagnostics_figure(group, assign_styles(["RLE"]), DEFAULT_BOOTSTRAP)
    assert figure is not None
    low, high = figure.panels[0].limits
    assert -20 < low < 0
    assert high == pytest.approx(5.9, abs=1.0)


def test_the_figure_is_written_and_shown(tmp_path: Path) -> None:
    write_run(tmp_path / "run", more=[LOGGED, LOGGED])
    page = report([tmp_path])
    assert (page.parent / "figures" / "fourroom-diagnostics.svg").exists()
    text = page.read_text()
    assert 'id="fourroom-diagnostics"' in text
    assert ">count_mean</text>" in text


def test_nothing_recorded_nothing_shown(tmp_path: Path) -> None:
    write_run(tmp_path / "run")
    page = report([tmp_path])
    assert not (page.parent / "figures" / "fourroom-diagnostics.svg").exists()
