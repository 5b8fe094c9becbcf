"""Limits of a difference of two means of bounded values."""

import numpy as np
import pytest
from scipy import integrate
from scipy import stats as scipy_stats

from rle.stats.aggregates import FloatArray
from rle.stats.bounded import BoundedValues
from rle.stats.melding import melded_limits

TAIL = 0.025


def of_successes(runs: int, counts: FloatArray) -> BoundedValues:
    """Zeros and ones, `[..., runs, 1]` for counts `[...]`."""
    ones = np.arange(runs)[:, None] < counts[..., None, None]
    return BoundedValues(ones.astype(np.float64), np.array(0.0), np.array(1.0))


def limits(first: tuple[int, int], second: tuple[int, int]) -> tuple[float, float]:
    """Of so many successes out of so many runs."""
    terms = [of_successes(runs, np.array(count)) for count, runs in (first, second)]
    low, high = melded_limits(*terms, TAIL)
    return float(low), float(high)


@pytest.mark.parametrize(
    ("first", "second"), [((5, 5), (0, 5)), ((4, 5), (1, 5)), ((7, 10), (1, 4)), ((9, 9), (8, 20))]
)
def test_chance_of_the_lower_limit(first: tuple[int, int], second: tuple[int, int]) -> None:
    # The lower limits of k of n are quantiles of Beta(k, n - k + 1), the upper ones those of
    # Beta(k + 1, n - k); the difference of the two must lie below the limit with chance 2.5 %.
    (wins, runs), (rival_wins, rival_runs) = first, second
    ours = scipy_stats.beta(wins, runs - wins + 1)
    rivals = scipy_stats.beta(rival_wins + 1, rival_runs - rival_wins)
    low, _ = limits(first, second)
    below, _ = integrate.quad(lambda x: ours.cdf(low + x) * rivals.pdf(x), 0.0, 1.0)
    # The lattice and the table together are right to 1e-4.
    assert below == pytest.approx(TAIL, abs=1e-4)


def test_agrees_with_fishers_exact_test() -> None:
    # None of these chances lies near the border.
    for wins in range(6):
        for rival_wins in range(6):
            table = [[wins, 5 - wins], [rival_wins, 5 - rival_wins]]
            chance = scipy_stats.fisher_exact(table, "greater").pvalue
            assert abs(chance - TAIL) > 0.001
            assert (limits((wins, 5), (rival_wins, 5))[0] > 0.0) == (chance < TAIL)


def test_exchanged_methods_mirror_the_limits() -> None:
    low, high = limits((4, 5), (2, 8))
    assert limits((2, 8), (4, 5)) == pytest.approx((-high, -low))


def test_failures_instead_of_successes_mirror_them_too() -> None:
    low, high = limits((4, 5), (2, 8))
    assert limits((1, 5), (6, 8)) == pytest.approx((-high, -low))


def test_the_whole_scale_is_the_most() -> None:
    first = BoundedValues(np.full((3, 1), 10.0), np.array(0.0), np.array(10.0))
    second = BoundedValues(np.zeros((3, 1)), np.array(0.0), np.array(10.0))
    low, high = melded_limits(first, second, TAIL)
    assert high == 10.0
    assert low == pytest.approx(10.0 * limits((3, 3), (0, 3))[0])


@pytest.mark.parametrize(("runs", "rival_runs"), [(3, 3), (5, 5), (4, 9), (10, 10)])
def test_neither_limit_fails_too_often_whatever_the_rates(runs: int, rival_runs: int) -> None:
    wins, rival_wins = np.arange(runs + 1), np.arange(rival_runs + 1)
    first = of_successes(runs, np.repeat(wins, rival_runs + 1))
    second = of_successes(rival_runs, np.tile(rival_wins, runs + 1))
    low, high = melded_limits(first, second, TAIL)
    grid = np.concatenate([[0.0, 0.005, 0.03], np.linspace(0.05, 0.95, 19), [0.97, 0.995, 1.0]])
    chances = scipy_stats.binom.pmf(wins[:, None], runs, grid)
    rival_chances = scipy_stats.binom.pmf(rival_wins[:, None], rival_runs, grid)
    for place, rate in enumerate(grid):
        for rival_place, rival_rate in enumerate(grid):
            chance = np.outer(chances[:, place], rival_chances[:, rival_place]).ravel()
            truth = rate - rival_rate
            assert chance[high < truth - 1e-4].sum() <= TAIL
            assert chance[low > truth + 1e-4].sum() <= TAIL
