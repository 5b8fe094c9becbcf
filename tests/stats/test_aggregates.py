"""Measures against numbers worked by hand and against rliable and SciPy as oracles."""

import numpy as np
import numpy.typing as npt
import pytest
from rliable import library, metrics
from scipy import stats as scipy_stats

from rle import stats
from rle.stats.aggregates import runs_per_task

Matrix = npt.NDArray[np.float64]
ONE_SAMPLE_ORACLES = {
    "iqm": metrics.aggregate_iqm,
    "median": metrics.aggregate_median,
    "mean": metrics.aggregate_mean,
    "optimality_gap": metrics.aggregate_optimality_gap,
}


def matrices() -> dict[str, Matrix]:
    rng = np.random.default_rng(0)
    return {
        "atari-sized": rng.lognormal(0.0, 1.0, (5, 57)),
        "normal": rng.normal(size=(10, 9)),
        "negative": -rng.exponential(3.0, (4, 6)),
        "constant": np.full((5, 7), 0.3),
        "zeros": np.zeros((3, 2)),
        "ties": rng.integers(0, 3, (6, 8)).astype(np.float64),
        "one task": rng.normal(size=(7, 1)),
        "one run": rng.normal(size=(1, 11)),
        "one run of one task": np.array([[2.5]]),
        "three numbers": np.array([[1.0, -2.0, 7.0]]),
    }


@pytest.mark.parametrize("measure", sorted(ONE_SAMPLE_ORACLES))
@pytest.mark.parametrize("kind", sorted(matrices()))
def test_agrees_with_rliable(measure: str, kind: str) -> None:
    scores = matrices()[kind]
    ours = stats.AGGREGATES[measure](scores)
    assert ours == pytest.approx(ONE_SAMPLE_ORACLES[measure](scores), abs=1e-12)


@pytest.mark.parametrize("kind", sorted(matrices()))
def test_probability_of_improvement_agrees_with_rliable(kind: str) -> None:
    first = matrices()[kind]
    rng = np.random.default_rng(1)
    # Fewer or more rival runs, some of them equal to a run of the first method.
    for rivals in (first, first[::-1], first[:1], rng.permuted(np.repeat(first, 2, 0), axis=0)):
        ours = stats.probability_of_improvement(first, rivals)
        theirs = metrics.probability_of_improvement(first, rivals)
        assert ours == pytest.approx(theirs, abs=1e-12)


@pytest.mark.parametrize("kind", sorted(matrices()))
def test_performance_profile_agrees_with_rliable(kind: str) -> None:
    scores = matrices()[kind]
    thresholds = np.array([-1.0, 0.0, 0.3, 1.0, 2.0])
    theirs = library.score_distributions(scores, thresholds)
    np.testing.assert_allclose(stats.performance_profile(scores, thresholds), theirs, atol=1e-12)


def test_interquartile_mean_is_the_trimmed_mean_at_every_size() -> None:
    rng = np.random.default_rng(2)
    for size in range(1, 40):
        scores = rng.normal(size=(1, size))
        expected = scipy_stats.trim_mean(scores, 0.25, axis=None)
        assert stats.interquartile_mean(scores) == pytest.approx(expected, abs=1e-12)


def test_measures_by_hand() -> None:
    # Two runs (rows) of four tasks; pooled and sorted: -1 0 0 1 2 3 4 9.
    scores = np.array([[0.0, 1.0, 4.0, -1.0], [2.0, 3.0, 0.0, 9.0]])
    # Two cut from either end: (0 + 1 + 2 + 3) / 4.
    assert stats.interquartile_mean(scores) == 1.5
    # Task means 1, 2, 2, 4.
    assert stats.mean(scores) == 2.25
    assert stats.median(scores) == 2.0
    # Short of 1 by 1, 0, 0, 2, 0, 0, 1, 0.
    assert stats.optimality_gap(scores) == 0.5
    # Short of 3 by 3, 2, 0, 4, 1, 0, 3, 0.
    assert stats.optimality_gap(scores, target=3.0) == 13 / 8
    # Strictly above: 5 of 8 above 0, 3 of 8 above 2, none above 9.
    np.testing.assert_array_equal(
        stats.performance_profile(scores, [0.0, 2.0, 9.0]), [5 / 8, 3 / 8, 0.0]
    )


def test_probability_of_improvement_by_hand() -> None:
    first = np.array([[1.0, 5.0], [3.0, 5.0]])
    second = np.array([[1.0, 6.0], [2.0, 4.0], [0.0, 5.0]])
    # Task 0: 1 beats 0 and ties with 1 (1.5 of 3), 3 beats all (3 of 3): 4.5 of 6.
    # Task 1: both 5s beat 4 and tie with 5 (1.5 of 3 each): 3 of 6.
    assert stats.probability_of_improvement(first, second) == (4.5 / 6 + 3 / 6) / 2
    assert stats.probability_of_improvement(second, first) == 1 - (4.5 / 6 + 3 / 6) / 2


def test_leading_dimensions_are_a_batch() -> None:
    rng = np.random.default_rng(3)
    batch = rng.normal(size=(2, 3, 5, 7))
    rivals = rng.normal(size=(2, 3, 4, 7))
    rivals[1, 2, 1, 3] = batch[1, 2, 0, 0] = np.nan
    thresholds = np.array([-1.0, 0.5])
    for index in np.ndindex(2, 3):
        for measure in stats.AGGREGATES.values():
            assert measure(batch)[index] == pytest.approx(float(measure(batch[index])))
        both = stats.probability_of_improvement(batch, rivals)[index]
        assert both == stats.probability_of_improvement(batch[index], rivals[index])
        np.testing.assert_array_equal(
            stats.performance_profile(batch, thresholds)[index],
            stats.performance_profile(batch[index], thresholds),
        )


def test_unequal_numbers_of_runs_leave_every_task_its_weight() -> None:
    nan = np.nan
    scores = np.array([[0.0, 10.0], [1.0, nan], [2.0, nan], [3.0, nan]])
    # Task means 1.5 and 10.
    assert stats.mean(scores) == 5.75
    assert stats.median(scores) == 5.75
    # Gaps to 1: (1 + 0 + 0 + 0) / 4 on the first task, 0 on the second.
    assert stats.optimality_gap(scores) == 0.125
    np.testing.assert_array_equal(stats.performance_profile(scores, [1.5]), [(0.5 + 1.0) / 2])
    # Five runs with weights 5/8 (four times) and 5/2; one unit cut from either end leaves
    # 0.25 of the 1, 0.625 of the 2, 0.625 of the 3 and 1.5 of the 10.
    expected = (0.25 * 1 + 0.625 * 2 + 0.625 * 3 + 1.5 * 10) / 3
    assert stats.interquartile_mean(scores) == pytest.approx(expected)
    # Task 0: 0, 1, 2, 3 against 1.5: 2 of 4. Task 1: 10 against 9 and 10: 1.5 of 2.
    rivals = np.array([[1.5, 9.0], [nan, 10.0]])
    assert stats.probability_of_improvement(scores, rivals) == (2 / 4 + 1.5 / 2) / 2


def test_equal_numbers_with_padding_give_the_trimmed_mean() -> None:
    rng = np.random.default_rng(4)
    scores = rng.normal(size=(5, 9))
    padded = np.concatenate([scores[:2], np.full((1, 9), np.nan), scores[2:]])
    for measure in stats.AGGREGATES.values():
        assert measure(padded) == pytest.approx(float(measure(scores)), abs=1e-12)


def test_a_task_without_scores_is_an_error_that_names_it() -> None:
    scores = np.ones((2, 3))
    scores[:, 1] = np.nan
    with pytest.raises(ValueError, match=r"columns \[1\]"):
        runs_per_task(scores)
    for measure in stats.AGGREGATES.values():
        with pytest.raises(ValueError, match=r"columns \[1\]"):
            measure(scores)


def test_wrong_shapes_are_errors() -> None:
    with pytest.raises(ValueError, match="runs, tasks"):
        stats.mean([1.0, 2.0])
    with pytest.raises(ValueError, match="runs, tasks"):
        stats.interquartile_mean(np.ones((0, 3)))
    with pytest.raises(ValueError, match="same tasks"):
        stats.probability_of_improvement(np.ones((2, 3)), np.ones((2, 4)))
