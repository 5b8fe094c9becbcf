"""Limits for means of bounded values: exact for successes, and what a limit must do otherwise."""

import itertools

import numpy as np
import numpy.typing as npt
import pytest
from scipy import stats as scipy_stats

from rle.stats.aggregates import FloatArray
from rle.stats.bounded import BoundedValues, bounded_limits

TAIL = 0.025


def limits(values: npt.ArrayLike, bounds: tuple[float, float] = (0.0, 1.0)) -> FloatArray:
    """Both limits of `[..., runs, tasks]`, stacked first."""
    bottom, top = np.array(bounds)
    matrix = np.asarray(values, dtype=np.float64)
    return np.stack(bounded_limits(BoundedValues(matrix, bottom, top), TAIL))


def one_task(values: npt.ArrayLike, bounds: tuple[float, float] = (0.0, 1.0)) -> FloatArray:
    return limits(np.asarray(values, dtype=np.float64)[..., None], bounds)


def clopper_pearson(successes: int, runs: int) -> tuple[float, float]:
    low = scipy_stats.beta.ppf(TAIL, successes, runs - successes + 1) if successes else 0.0
    high = scipy_stats.beta.ppf(1.0 - TAIL, successes + 1, runs - successes)
    return low, high if successes < runs else 1.0


@pytest.mark.parametrize("runs", [2, 3, 5, 10, 40])
def test_successes_get_the_limits_of_clopper_and_pearson(runs: int) -> None:
    for successes in range(runs + 1):
        found = one_task(np.arange(runs) < successes)
        assert found == pytest.approx(clopper_pearson(successes, runs), rel=1e-9, abs=1e-12)


def test_runs_that_agree_by_hand() -> None:
    # The unseen run's weight among eleven is at most 1 - 0.025^(1/10) = 0.3085 with chance 97.5 %;
    # it moves a mean of 1/2 by that part of the way to the end.
    assert one_task([0.5] * 10) == pytest.approx((0.3458, 0.6542), abs=1e-4)
    assert one_task([0.9] * 10) == pytest.approx((0.6224, 0.9308), abs=1e-4)


@pytest.mark.parametrize("runs", [5, 10])
def test_a_run_that_moves_a_little_moves_the_limits_no_further(runs: int) -> None:
    none = one_task([0.0] * runs)
    for value in (1e-300, 1e-12, 1e-4, 1e-2):
        low, high = one_task([0.0] * (runs - 1) + [value]) - none
        assert 0.0 <= low <= value
        # Up to the solver's precision.
        assert -1e-12 <= high <= value


def test_no_limit_falls_where_a_run_rises() -> None:
    rng = np.random.default_rng(0)
    for _ in range(50):
        runs = rng.beta(0.3, 0.3, rng.integers(2, 8))
        raised = runs.copy()
        place = rng.integers(len(runs))
        raised[place] = rng.uniform(runs[place], 1.0)
        assert np.all(one_task(raised) >= one_task(runs) - 1e-12)


@pytest.mark.parametrize("shape", [(4, 1), (5, 3)])
def test_another_scale_and_its_mirror(shape: tuple[int, int]) -> None:
    values = np.random.default_rng(1).beta(0.5, 0.5, shape)
    low, high = limits(values)
    assert limits(50.0 + 20.0 * values, (50.0, 70.0)) == pytest.approx(
        (50.0 + 20.0 * low, 50.0 + 20.0 * high)
    )
    assert limits(1.0 - values) == pytest.approx((1.0 - high, 1.0 - low))


def test_a_wider_scale_has_wider_limits() -> None:
    low, high = one_task([0.2, 0.4, 0.9])
    wider_low, wider_high = one_task([0.2, 0.4, 0.9], (-1.0, 3.0))
    assert wider_low < low < high < wider_high


def test_tasks_that_are_alike_count_as_one() -> None:
    # Two successes of five on each of three tasks: 6 of 15.
    successes = np.repeat(np.arange(5)[:, None] < 2, 3, axis=1)
    assert limits(successes) == pytest.approx(clopper_pearson(6, 15))
    # One of five on one task and none on the others: no more than chance makes of equal tasks.
    one = np.zeros((5, 3))
    one[0, 0] = 1.0
    assert limits(one) == pytest.approx(clopper_pearson(1, 15))


def test_what_tasks_differ_by_is_no_spread() -> None:
    # Five tasks always solved and five never, five seeds each: nothing varies within a task. The
    # unseen run, of a task at the other end, has a weight of up to 1 - 0.025^(1/50).
    solved = np.broadcast_to(np.arange(10) < 5, (5, 10))
    reach = 1.0 - TAIL ** (1 / 50)
    assert limits(solved) == pytest.approx((0.5 - reach, 0.5 + reach))
    low, high = clopper_pearson(25, 50)
    assert high - low > 3.0 * reach


def test_part_of_what_tasks_differ_by_by_hand() -> None:
    # Two tasks, runs 0, 0.2 and 0.8, 1: means 0.1 and 0.9, variance among them 0.32, of which
    # chance would make 0.02 / 2 = 0.01, that is 1/32. Levels are 31/32 of the way from 0.5: 0.1125
    # and 0.8875; deviations are stretched by sqrt(2 / (2 - 31/32)).
    stretch = (2.0 / (2.0 - 31.0 / 32.0)) ** 0.5
    deviations = stretch * np.array([-0.1125, 0.0875, -0.0875, 0.1125])
    knots = np.append(deviations, 1.0 - 0.1125)
    means = 0.5 + np.random.default_rng(2).dirichlet(np.ones(5), 400_000) @ knots
    values = BoundedValues(np.array([[0.0, 0.8], [0.2, 1.0]]), np.array(0.0), np.array(1.0))
    low, high = bounded_limits(values, tail=0.1)
    # Four standard errors.
    assert np.mean(means > high) == pytest.approx(0.1, abs=0.002)
    assert low == pytest.approx(1.0 - high)


@pytest.mark.parametrize(("runs", "tasks"), [(3, 2), (5, 2), (2, 3), (3, 3)])
def test_neither_limit_fails_too_often_whatever_the_rates(runs: int, tasks: int) -> None:
    """All outcomes of successes on several tasks, with their chances under many sets of rates."""
    counts = np.array(list(itertools.product(range(runs + 1), repeat=tasks)))
    low, high = limits(np.arange(runs)[:, None] < counts[:, None, :])
    grid = np.concatenate([[0.0, 0.005, 0.02], np.linspace(0.05, 0.95, 10), [0.98, 0.995, 1.0]])
    chances = scipy_stats.binom.pmf(np.arange(runs + 1)[:, None], runs, grid)
    for rates in itertools.combinations_with_replacement(range(len(grid)), tasks):
        truth = np.mean(grid[list(rates)])
        chance = np.prod([chances[counts[:, t], rate] for t, rate in enumerate(rates)], axis=0)
        assert chance[high < truth - 1e-9].sum() <= TAIL
        assert chance[low > truth + 1e-9].sum() <= TAIL


def test_leading_dimensions_are_a_batch() -> None:
    values = np.random.default_rng(3).beta(0.5, 0.5, (4, 3, 2))
    tops = np.array([1.0, 2.0, 5.0, 1.5])
    low, high = bounded_limits(BoundedValues(values, np.array(0.0), tops), TAIL)
    for number, top in enumerate(tops):
        alone = limits(values[number], (0.0, top))
        assert (low[number], high[number]) == pytest.approx(tuple(alone))
