"""Which measures are bounded, and the values their limits are made from."""

import numpy as np
import pytest

from rle import stats
from rle.stats.aggregates import Difference
from rle.stats.bounded_terms import bounded_terms, even_runs, pair_outcomes

NAN = float("nan")


def test_runs_are_made_equally_many_by_hand() -> None:
    # Four runs in two blocks; the two runs of the other task as they are. Three in two: the middle
    # one counts half in both, (0 + 3/2) / 1.5 and (3/2 + 6) / 1.5.
    sample = np.array([[4.0, 9.0, 6.0], [1.0, 7.0, 0.0], [3.0, NAN, 3.0], [2.0, NAN, NAN]])
    np.testing.assert_allclose(even_runs(sample), [[1.5, 7.0, 1.0], [3.5, 9.0, 5.0]])
    complete = sample[:2]
    assert even_runs(complete) is complete


def test_equally_many_runs_keep_means_and_ends() -> None:
    rng = np.random.default_rng(0)
    sample = rng.random((3, 7, 4))
    sample[:, 5:, 1], sample[:, 3:, 2], sample[:, :, 3] = NAN, NAN, 1.0
    even = even_runs(sample)
    assert even.shape == (3, 3, 4)
    np.testing.assert_allclose(even.mean(axis=-2), stats.task_means(sample))
    np.testing.assert_allclose(even[..., 3], 1.0)


def test_outcomes_of_pairs_by_hand() -> None:
    # 1, 3 and 5 against 0, 3 and 9: of nine pairs, 1 wins one; 3 wins one and ties one; 5 wins two:
    # 4 won, 1 tied, 4 lost. In three blocks of three: 0 0 0, 0 1/2 1, 1 1 1.
    outcomes = pair_outcomes(np.array([[1.0], [3.0], [5.0]]), np.array([[0.0], [3.0], [9.0]]))
    np.testing.assert_allclose(outcomes[:, 0], [0.0, 0.5, 1.0], atol=1e-12)
    # Two against four, all tied on one task, three of eight lost on the other: blocks of four
    # pairs, the lost ones first.
    first = np.array([[2.0, 5.0], [2.0, 0.5]])
    second = np.array([[2.0, 0.0], [2.0, 1.0], [2.0, 2.0], [2.0, 3.0]])
    np.testing.assert_allclose(pair_outcomes(first, second), [[0.5, 0.25], [0.5, 1.0]])


def test_outcomes_of_pairs_have_the_mean_of_the_measure() -> None:
    rng = np.random.default_rng(1)
    first, second = rng.integers(0, 4, (2, 6, 5, 3)).astype(float)
    first[:, 3:, 1] = NAN
    outcomes = pair_outcomes(first, second)
    assert outcomes.shape == (6, 3, 3)
    np.testing.assert_allclose(
        stats.mean(outcomes), stats.probability_of_improvement(first, second)
    )


def test_which_statistics_are_bounded() -> None:
    scores, rivals = np.random.default_rng(2).normal(size=(2, 4, 3))
    for measure in (stats.mean, stats.median, stats.interquartile_mean):
        assert bounded_terms(measure, [scores], None) == ()
        assert bounded_terms(Difference(measure), [scores, rivals], None) == ()
    assert len(bounded_terms(stats.probability_of_improvement, [scores, rivals], None)) == 1
    assert len(bounded_terms(stats.mean, [scores], (-9.0, 9.0))) == 1
    assert len(bounded_terms(Difference(stats.mean), [scores, rivals], (-9.0, 9.0))) == 2
    for other in (stats.interquartile_mean, stats.probability_of_improvement):
        with pytest.raises(ValueError, match="bounds are for the mean"):
            bounded_terms(other, [scores, rivals], (0.0, 1.0))


def test_the_scale_of_the_optimality_gap() -> None:
    # Gaps 0, 0.5 and 0: a score of 0 is the worst to reckon with. With a score of -2, 3 is.
    (usual,) = bounded_terms(stats.optimality_gap, [np.array([[1.2], [0.5], [3.0]])], None)
    assert (float(usual.bottom), float(usual.top)) == (0.0, 1.0)
    assert usual.open_above
    np.testing.assert_allclose(usual.values[:, 0], [0.0, 0.5, 0.0])
    (worse,) = bounded_terms(stats.optimality_gap, [np.array([[1.2], [-2.0], [3.0]])], None)
    assert float(worse.top) == 3.0
