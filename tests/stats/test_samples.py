"""Means and differences of one task, as used for coverage and success rates."""

import pytest
from scipy import stats as scipy_stats

from rle import stats
from rle.errors import UsageError
from rle.stats.samples import difference_interval, mean_interval

SHARE = (0.0, 1.0)


def test_the_scale_bounds_the_limits_and_makes_them_honest() -> None:
    values = [0.98, 0.99, 0.86]
    free, bounded = mean_interval(values), mean_interval(values, SHARE)
    assert free.point == bounded.point == pytest.approx(sum(values) / 3)
    assert free.limits[1] > 1.0
    # Three runs leave an unseen one at 0 a weight of up to 1 - 0.025^(1/3) = 0.708.
    assert bounded.limits[0] == pytest.approx(0.292 * bounded.point, abs=0.01)
    assert bounded.point < bounded.limits[1] < 1.0
    assert (bounded.method, bounded.resamples) == ("bounded", 0)


def test_all_or_no_successes_give_an_exact_limit() -> None:
    # Clopper and Pearson for 5 of 5: 0.025^(1/5) = 0.4782.
    assert mean_interval([1.0] * 5, SHARE).limits == pytest.approx((0.4782, 1.0), abs=1e-4)
    assert mean_interval([0.0] * 5, SHARE).limits == pytest.approx((0.0, 0.5218), abs=1e-4)
    # The same with another scale.
    assert mean_interval([100.0] * 5, (50.0, 100.0)).limits == pytest.approx(
        (73.909, 100.0), abs=1e-3
    )


def test_nearly_no_success_is_nearly_like_none() -> None:
    # What resampling makes of this ends at 0.00003.
    none = mean_interval([0.0] * 10, SHARE)
    hardly = mean_interval([0.0] * 9 + [1e-4], SHARE)
    assert none.limits == pytest.approx((0.0, 0.3085), abs=1e-4)
    assert hardly.limits == pytest.approx(none.limits, abs=1e-4)
    difference = difference_interval([0.0] * 9 + [1e-4], [0.5] * 10, SHARE)
    expected = difference_interval([0.0] * 10, [0.5] * 10, SHARE)
    assert difference.limits == pytest.approx(expected.limits, abs=1e-4)


@pytest.mark.parametrize("successes", range(6))
def test_any_number_of_successes_gets_the_exact_limits(successes: int) -> None:
    exact = scipy_stats.binomtest(successes, 5).proportion_ci(0.95, "exact")
    values = [1.0] * successes + [0.0] * (5 - successes)
    assert mean_interval(values, SHARE).limits == pytest.approx((exact.low, exact.high))
    ninety = scipy_stats.binomtest(successes, 5).proportion_ci(0.9, "exact")
    found = mean_interval(values, SHARE, stats.Bootstrap(level=0.9))
    assert found.limits == pytest.approx((ninety.low, ninety.high))


def test_difference_of_two_samples() -> None:
    # Shifting a sample shifts the interval; exchanging the samples mirrors it.
    first, second = [3.0, 4.0, 5.5, 6.0], [1.0, 2.5, 2.0]
    interval = difference_interval(first, second)
    assert interval.point == pytest.approx(4.625 - 11 / 6)
    low, high = interval.limits
    shifted = difference_interval([value + 10 for value in first], second)
    assert shifted.limits == pytest.approx((low + 10, high + 10))
    many = stats.Bootstrap(resamples=40_000)
    low, high = difference_interval(first, second, bootstrap=many).limits
    mirrored = difference_interval(second, first, bootstrap=many).limits
    assert mirrored == pytest.approx((-high, -low), abs=0.05)


def test_success_against_none() -> None:
    # 5 of 5 and 0 of 5: below 1 by the sum of two draws from Beta(1, 5), 0.797 at 97.5 %.
    interval = difference_interval([1.0] * 5, [0.0] * 5, SHARE)
    assert interval.limits == pytest.approx((0.203, 1.0), abs=1e-3)
    assert (interval.method, interval.resamples) == ("bounded-difference", 0)
    # Four of five are enough to tell from none, as Fisher's exact test has it (2.4 %), three not.
    assert difference_interval([1.0] * 4 + [0.0], [0.0] * 5, SHARE).limits[0] > 0.0
    assert difference_interval([1.0] * 3 + [0.0] * 2, [0.0] * 5, SHARE).limits[0] < 0.0
    # Plain means plain, to compare with other libraries.
    plain = stats.Bootstrap(method="percentile")
    assert difference_interval([1.0] * 5, [0.0] * 5, SHARE, plain).limits == (1.0, 1.0)


def test_bounded_differences_within_the_scale() -> None:
    interval = difference_interval([0.9, 0.2, 0.99], [0.1, 0.7, 0.0], SHARE)
    low, high = interval.limits
    assert -1.0 <= low < interval.point < high <= 1.0
    wide = difference_interval([18.0, 4.0, 19.8], [2.0, 14.0, 0.0], (0.0, 20.0))
    assert wide.limits == pytest.approx((20.0 * low, 20.0 * high))


def test_missing_values_and_single_seeds() -> None:
    interval = mean_interval([1.0, 2.0, float("nan")])
    assert interval.point == 1.5
    assert "1 of 3" in interval.note
    assert mean_interval([1.0]).low is None
    assert difference_interval([1.0], [1.0, 0.0], SHARE).low is None
    with pytest.raises(UsageError, match="no finite value"):
        mean_interval([float("nan")])
    with pytest.raises(UsageError, match="no finite value"):
        mean_interval([])
    with pytest.raises(UsageError, match="bounds"):
        mean_interval([0.5, 1.2], SHARE)
