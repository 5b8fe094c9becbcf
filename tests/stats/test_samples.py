"""Means and differences of one task, as used for coverage and success rates."""

import pytest

from rle import stats
from rle.errors import UsageError
from rle.stats.samples import difference_interval, mean_interval

SHARE = (0.0, 1.0)


def test_bounds_cut_the_limits() -> None:
    values = [0.98, 0.99, 0.86]
    free, cut = mean_interval(values), mean_interval(values, SHARE)
    assert free.point == cut.point == pytest.approx(sum(values) / 3)
    assert free.limits[1] > 1.0
    assert cut.limits == (free.limits[0], 1.0)
    assert cut.method == "expanded-percentile"


def test_all_or_no_successes_give_an_exact_limit() -> None:
    # Clopper and Pearson for 5 of 5: 0.025^(1/5) = 0.4782.
    assert mean_interval([1.0] * 5, SHARE).limits == pytest.approx((0.4782, 1.0), abs=1e-4)
    assert mean_interval([0.0] * 5, SHARE).limits == pytest.approx((0.0, 0.5218), abs=1e-4)
    # The same with another scale.
    assert mean_interval([100.0] * 5, (50.0, 100.0)).limits == pytest.approx(
        (73.909, 100.0), abs=1e-3
    )


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


def test_success_against_none_by_hand() -> None:
    # 5 of 5 and 0 of 5: 1 - sqrt(0.5218^2 + 0.5218^2) = 0.2621 up to 1.
    interval = difference_interval([1.0] * 5, [0.0] * 5, SHARE)
    assert interval.limits == pytest.approx((0.2621, 1.0), abs=1e-4)
    assert interval.method == "square-and-add"
    # One sample at the end of the scale is enough: without it the interval is too narrow.
    mixed = difference_interval([1.0, 1.0, 0.0, 1.0, 1.0], [0.0] * 5, SHARE)
    assert mixed.method == "square-and-add"
    narrower = difference_interval([1.0, 1.0, 0.0, 1.0, 1.0], [0.0] * 5)
    assert mixed.limits[0] < narrower.limits[0]
    # Plain means plain, to compare with other libraries.
    plain = stats.Bootstrap(method="percentile")
    assert difference_interval([1.0] * 5, [0.0] * 5, SHARE, plain).limits == (1.0, 1.0)


def test_bounded_difference_within_the_scale() -> None:
    interval = difference_interval([0.9, 0.2, 0.99], [0.1, 0.7, 0.0], SHARE)
    assert interval.method == "expanded-percentile"
    low, high = interval.limits
    assert -1.0 <= low < high <= 1.0


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
