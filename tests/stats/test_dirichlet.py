"""Quantiles of a mean under random weights: by hand, and with SciPy as the oracle."""

import numpy as np
import pytest
from scipy import stats as scipy_stats

from rle.stats.dirichlet import quantiles, upper_quantile

TAILS = (0.4, 0.025, 0.0005)


@pytest.mark.parametrize("tail", TAILS)
def test_two_and_three_knots_by_hand(tail: float) -> None:
    # Weights (D, 1 - D) with D uniform: the mean of 0 and 1 is uniform.
    assert upper_quantile(np.array([0.0, 1.0]), tail) == pytest.approx(1.0 - tail)
    # The third weight exceeds t with chance (1 - t)^2.
    two_zeros = upper_quantile(np.array([0.0, 0.0, 1.0]), tail)
    assert two_zeros == pytest.approx(1.0 - tail**0.5)
    # 0, 1/2 and 1: a triangle around 1/2, so that t above it is exceeded with chance 2 (1 - t)^2.
    triangle = upper_quantile(np.array([0.0, 0.5, 1.0]), tail)
    assert triangle == pytest.approx(1.0 - (tail / 2.0) ** 0.5)


@pytest.mark.parametrize("tail", TAILS)
@pytest.mark.parametrize("size", [2, 3, 6, 11, 58, 300])
def test_zeros_and_ones_give_the_beta_distribution(size: int, tail: float) -> None:
    for ones in {1, 2, size // 2, size - 1} - {size}:
        knots = np.repeat([0.0, 1.0], [size - ones, ones])
        expected = scipy_stats.beta.isf(tail, ones, size - ones)
        assert upper_quantile(knots, tail) == pytest.approx(expected, rel=1e-9)


def test_any_knots_as_simulated() -> None:
    rng = np.random.default_rng(0)
    knots = rng.random((7, 6)) ** 3
    means = rng.dirichlet(np.ones(6), 200_000) @ knots.T
    exceeded = np.mean(means > upper_quantile(knots, 0.025), axis=0)
    # Four standard errors.
    np.testing.assert_allclose(exceeded, 0.025, atol=0.0014)


def test_a_shift_a_scale_and_any_order_move_it_along() -> None:
    rng = np.random.default_rng(1)
    knots = rng.normal(size=12)
    found = upper_quantile(knots, 0.025)
    assert upper_quantile(rng.permutation(knots), 0.025) == pytest.approx(float(found), rel=1e-12)
    assert upper_quantile(3.0 + 0.5 * knots, 0.025) == pytest.approx(3.0 + 0.5 * found, rel=1e-9)


def test_knots_that_agree_or_nearly_do() -> None:
    assert upper_quantile(np.full(5, 0.3), 0.025) == pytest.approx(0.3)
    exact = scipy_stats.beta.isf(0.025, 2, 4)
    for gap in (1e-300, 1e-17, 1e-12):
        knots = np.array([0.0, gap, 2 * gap, 3 * gap, 1.0 - gap, 1.0])
        assert upper_quantile(knots, 0.025) == pytest.approx(exact, abs=1e-10)


def test_leading_dimensions_are_a_batch() -> None:
    knots = np.random.default_rng(2).random((3, 4, 9))
    # Some that need many steps beside some that need none.
    knots[0, 1], knots[2, 3] = 0.5, [0.0] * 8 + [1.0]
    found = upper_quantile(knots, 0.025)
    assert found.shape == (3, 4)
    for place in np.ndindex(3, 4):
        assert found[place] == pytest.approx(float(upper_quantile(knots[place], 0.025)), rel=1e-12)


def test_many_quantiles_at_once() -> None:
    # Three zeros and two ones: Beta(2, 3). One number only: that number.
    levels = np.linspace(0.005, 0.995, 34)
    found = quantiles(np.array([[0.0, 0.0, 0.0, 1.0, 1.0], [0.7] * 5]), levels)
    np.testing.assert_allclose(scipy_stats.beta.cdf(found[0], 2, 3), levels, atol=1e-4)
    np.testing.assert_allclose(found[1], 0.7)
