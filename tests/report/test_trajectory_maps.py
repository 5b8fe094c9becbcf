"""Pictures of trajectories: which lines are drawn, where, and under which headings."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from rle.report.draw.trajectories import every_seed_figures, middle_figure, trajectory_figure
from rle.report.measure.plan import TRAJECTORIES
from rle.report.measure.watched import Look, Looks
from rle.report.read.methods import group_runs
from rle.report.read.moments import Recorded, moment_heading, moments_of
from rle.report.read.records import read_run
from rle.tasks import fourroom
from tests.report.folders import write_run


def test_moments_are_shares_of_training() -> None:
    whole = Recorded((503_808, 1_003_520, 1_503_232, 2_002_944, 2_502_656), 2_500_000)
    assert [whole.nearest(m) for m in (0.2, 0.6, None)] == [503_808, 1_503_232, 2_502_656]
    # 60 % of 200 k are 120 k; 40 k are as far from 20 % of 500 k as to be something else.
    assert Recorded((40_960, 122_880), 200_000).nearest(0.6) == 122_880
    assert Recorded((40_960, 122_880), 500_000).nearest(0.2) is None
    assert Recorded((), 500_000).nearest(None) is None
    assert moments_of([whole], (0.2, 0.6)) == [0.2, 0.6, None]
    # A run that is not finished ends where its last checkpoint stands.
    begun = Recorded(whole.steps[:2], whole.planned)
    assert moments_of([begun], (0.2, 0.6)) == [0.2, None]
    assert moments_of([Recorded(whole.steps[:1], whole.planned)], (0.2, 0.6)) == [0.2]
    assert moments_of([Recorded((100,), 100)], (0.2, 0.6)) == [None]
    assert moment_heading(0.6, [1_503_232, None, 1_503_233]) == ("After 1.5\u00a0M steps", False)
    assert moment_heading(0.6, [1_503_232, 120_000]) == ("After 60 % of training", True)
    assert moment_heading(None, [1_503_232, 120_000]) == ("At the end", True)


def straight(row: int) -> np.ndarray:
    """Twenty trajectories of 300 steps; number n goes down column n from `row`, one cell a step."""
    rows = np.minimum(row + np.arange(301), 50)[:, None]
    return rows * fourroom.SIZE + np.arange(TRAJECTORIES)[None]


@pytest.fixture
def grid(tmp_path: Path) -> tuple[object, Looks]:
    """Two seeds of RLE and one of PPO, the second seed without a checkpoint in the middle."""
    records = [
        read_run(write_run(tmp_path / name, explore, seed=seed), name)
        for name, explore, seed in (("a", "rle", 0), ("b", "rle", 1), ("c", "none", 0))
    ]
    [group] = group_runs(records)
    found = {
        (name, moment): Look(step, straight(10 * number))
        for number, name in enumerate("abc")
        for moment, step in ((0.2, 200), (0.6, 600), (None, 1000))
    }
    del found["b", 0.6]
    return group, Looks((0.2, 0.6, None), found)


def test_a_figure_for_each_method_with_every_seed_at_every_moment(grid) -> None:
    rle, ppo = every_seed_figures(*grid)
    assert (rle.name, ppo.name) == ("trajectories-rle", "trajectories-ppo")
    assert [group.title for group in rle.groups] == [
        "After 200 steps",
        "After 600 steps",
        "After 1\u00a0k steps",
    ]
    assert [[panel.title for panel in group.panels] for group in rle.groups] == 3 * [
        ["seed 0", "seed 1"]
    ]
    assert rle.columns == 2
    missing = [[panel.missing for panel in group.panels] for group in rle.groups]
    assert missing == [["", ""], ["", "no checkpoint"], ["", ""]]
    assert "its own z" in rle.caption
    assert "action noise only" in ppo.caption
    second = rle.groups[0].panels[1]
    assert len({path.colour for path in second.paths}) == len(second.paths) == 5
    for number, path in enumerate(second.paths):
        assert len(path.rows) == 256 + 1
        # The cells, moved by the same fraction of a cell all the way.
        assert np.rint(path.rows[:3]).tolist() == [10, 11, 12]
        assert (np.rint(path.columns) == number).all()
        assert np.allclose(np.abs(np.diff(path.rows)), np.r_[np.ones(40), np.zeros(216)])
    assert len({float(path.rows[0]) for path in second.paths}) == 5


def test_all_trajectories_in_the_middle_of_training(grid) -> None:
    figure = middle_figure(*grid)
    assert figure is not None
    assert figure.title == "20 trajectories in the middle of training"
    assert figure.caption.startswith("After 600 steps: ")
    [panels] = [group.panels for group in figure.groups]
    assert [panel.title for panel in panels] == ["RLE", "PPO"]
    # PPO's twenty lines go from row 20 to row 50 of columns 0 to 19, through the wall of row 25: two
    # rooms, and 20 x 31 cells. Of RLE the lower seed is shown: from row 0 to row 50.
    assert panels[1].detail == "seed 0: 2 rooms, 620 cells"
    assert panels[0].detail == "seed 0 (median of 2): 2 rooms, 1\u202f020 cells"
    assert len({path.colour for path in panels[0].paths}) == TRAJECTORIES
    assert all(len(path.rows) == 301 for path in panels[0].paths)


def test_without_a_checkpoint_in_the_middle_the_last_is_shown(grid) -> None:
    group, looks = grid
    last = {key: look for key, look in looks.found.items() if key[1] is None}
    figure = middle_figure(group, Looks((None,), last))
    assert figure is not None
    assert figure.title == "20 trajectories"
    assert figure.caption.startswith("After 1\u00a0k steps: ")
    # With one moment, methods stand side by side.
    side_by_side = trajectory_figure(group, Looks((None,), last))
    assert side_by_side is not None
    assert [panel.title for panel in side_by_side.groups[0].panels] == ["RLE", "PPO"]
    # A run that has just begun has only its first checkpoint.
    first = {key: look for key, look in looks.found.items() if key[1] == 0.2}
    begun = middle_figure(group, Looks((0.2,), first))
    assert begun is not None
    assert begun.caption.startswith("After 200 steps: ")
    empty = Looks((None,), {})
    assert middle_figure(group, empty) is None
    assert trajectory_figure(group, empty) is None
    assert every_seed_figures(group, empty) == []
