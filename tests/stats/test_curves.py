"""Learning curves on a common grid, and their bands."""

import numpy as np
import pytest

from rle import stats
from rle.errors import UsageError


def test_values_hold_until_the_next_one() -> None:
    aligned = stats.align_curves(
        "rle",
        {
            "a": [([0, 10, 20], [1.0, 2.0, 3.0]), ([5, 20], [7.0, 8.0])],
            "b": [([0, 20], [0.0, 4.0])],
        },
        steps=[5, 9, 10, 19, 20],
    )
    assert aligned.tasks == ("a", "b")
    np.testing.assert_array_equal(aligned.values[:, 0, 0], [1.0, 1.0, 2.0, 2.0, 3.0])
    np.testing.assert_array_equal(aligned.values[:, 1, 0], [7.0, 7.0, 7.0, 7.0, 8.0])
    np.testing.assert_array_equal(aligned.values[:, 0, 1], [0.0, 0.0, 0.0, 0.0, 4.0])
    assert np.isnan(aligned.values[:, 1, 1]).all()
    assert aligned.notes == ()


def test_the_grid_goes_from_where_all_runs_have_a_value_to_the_last_step() -> None:
    curves = {"a": [([0, 100], [1.0, 2.0]), ([20, 90], [1.0, 2.0])]}
    aligned = stats.align_curves("rle", curves, points=5)
    np.testing.assert_array_equal(aligned.steps, [20.0, 40.0, 60.0, 80.0, 100.0])
    with pytest.raises(UsageError, match="no value before step 20"):
        stats.align_curves("rle", curves, steps=[0, 50])


def test_short_runs_and_invalid_values_are_reported() -> None:
    steps = np.arange(0, 101, 10)
    values = steps / 100.0
    broken = values.copy()
    broken[3] = np.nan
    aligned = stats.align_curves(
        "rle", {"a": [(steps, values), (steps[:6], values[:6]), (steps, broken)]}, points=11
    )
    assert aligned.notes == (
        "rle: 1 recorded values are NaN or infinite and left out.",
        "rle: 1 of 3 runs end before step 100; their last value is carried forward.",
    )
    np.testing.assert_array_equal(aligned.values[-1, :, 0], [1.0, 0.5, 1.0])
    assert aligned.values[3, 2, 0] == 0.2
    assert stats.aggregate_curve(stats.mean, aligned).notes == aligned.notes


def test_every_point_of_a_band_is_the_interval_with_the_same_seed() -> None:
    rng = np.random.default_rng(0)
    steps = np.arange(4)
    curves = {
        task: [(steps, rng.normal(size=4).cumsum()) for _ in range(5)] for task in ("a", "b", "c")
    }
    aligned = stats.align_curves("rle", curves, steps=steps)
    for measure in stats.AGGREGATES.values():
        band = stats.aggregate_curve(measure, aligned)
        np.testing.assert_array_equal(band.grid, steps)
        for point in range(4):
            interval = stats.aggregate_interval(measure, aligned.values[point])
            assert band.point[point] == pytest.approx(interval.point)
            assert (band.low[point], band.high[point]) == pytest.approx(interval.limits)


def test_every_point_of_a_bounded_band_is_the_interval() -> None:
    # Success rises from none to all, one seed after the other.
    steps = np.arange(6)
    curves = {"a": [(steps, (steps > run).astype(float)) for run in range(5)]}
    aligned = stats.align_curves("rle", curves, steps=steps)
    band = stats.aggregate_curve(stats.mean, aligned, bounds=(0.0, 1.0))
    assert (band.method, band.resamples) == ("bounded", 0)
    assert band.notes == (
        "At 2 points: Every run sits at the end of the scale: the limit is the exact binomial one.",
    )
    for point in steps:
        interval = stats.mean_interval(aligned.values[point, :, 0], (0.0, 1.0))
        assert (band.low[point], band.high[point]) == pytest.approx(interval.limits)
    with pytest.raises(UsageError, match="rle: values from 0 to 1 do not lie within"):
        stats.aggregate_curve(stats.mean, aligned, bounds=(0.0, 0.5))


def test_seeds_are_resampled_whole() -> None:
    # Each run is a constant curve, so the band must be equally wide at every step.
    curves = {"a": [([0, 1, 2], [value] * 3) for value in (1.0, 2.0, 4.0, 8.0)]}
    band = stats.aggregate_curve(stats.mean, stats.align_curves("rle", curves, steps=[0, 1, 2]))
    assert len(set(band.low.tolist())) == len(set(band.high.tolist())) == 1


def test_curves_are_normalised_like_scores() -> None:
    aligned = stats.align_curves("rle", {"Pong": [([0, 1], [-20.7, 14.6])]}, steps=[0, 1])
    np.testing.assert_array_equal(stats.human_normalised(aligned).values[:, 0, 0], [0.0, 1.0])
    band = stats.aggregate_curve(stats.mean, stats.human_normalised(aligned))
    assert band.method == "none"
    np.testing.assert_array_equal(band.point, [0.0, 1.0])


def test_bad_curves_are_explained() -> None:
    with pytest.raises(UsageError, match="no curves for b"):
        stats.align_curves("rle", {"a": [([0], [1.0])], "b": []})
    with pytest.raises(UsageError, match="no curves"):
        stats.align_curves("rle", {})
    with pytest.raises(UsageError, match=r"run 0 of a: .* steps in order"):
        stats.align_curves("rle", {"a": [([1, 0], [1.0, 2.0])]})
    with pytest.raises(UsageError, match="run 0 of a: as many values"):
        stats.align_curves("rle", {"a": [([0, 1], [1.0])]})
    with pytest.raises(UsageError, match="run 0 of a has no finite value"):
        stats.align_curves("rle", {"a": [([0], [float("nan")])]})
