"""Whether a 95 % interval contains the answer 95 % of the time: a small simulation.

Fixed seeds make each share a fixed number; the bounds leave room for three standard errors.
`benchmarks/stats_coverage.py` is the full study.
"""

import numpy as np
import pytest

from rle import stats
from rle.stats.aggregates import FloatArray
from rle.stats.interval import Method
from rle.stats.limits import limits_of_replicates
from rle.stats.resampling import Statistic, replicate

BLOCKS, BLOCK = 40, 25


def coverage(statistic: Statistic, runs: int, truth: float, rivals: bool = False) -> FloatArray:
    """Share of a thousand experiments that contain the truth: plain, expanded.

    Five tasks with different means and scatter.
    """
    rng = np.random.default_rng(runs)
    centre, scatter = np.arange(5.0), np.array([0.3, 1.0, 0.5, 2.0, 0.8])
    methods: tuple[Method, ...] = ("percentile", "expanded-percentile")
    hits = np.zeros(2)
    for _ in range(BLOCKS):
        samples = [
            centre + scatter * rng.standard_normal((BLOCK, runs, 5)) for _ in range(1 + rivals)
        ]
        replicates = replicate(statistic, samples, 400, rng)
        for column, method in enumerate(methods):
            limits = limits_of_replicates(replicates, 0.95, method)
            hits[column] += np.sum((limits.low <= truth) & (truth <= limits.high))
    return hits / (BLOCKS * BLOCK)


@pytest.mark.parametrize("runs", [3, 5, 10])
def test_mean(runs: int) -> None:
    plain, expanded = coverage(stats.mean, runs, truth=2.0)
    assert 0.93 <= expanded <= 0.97
    if runs < 10:
        # What the correction is for; equal shares would mean that it is gone.
        assert plain < 0.92


@pytest.mark.parametrize("runs", [3, 10])
def test_interquartile_mean(runs: int) -> None:
    # Means 0 to 4, symmetric about 2 in pairs of unequal scatter: the answer is that of very
    # many runs.
    rng = np.random.default_rng(0)
    many = np.arange(5.0) + np.array([0.3, 1.0, 0.5, 2.0, 0.8]) * rng.standard_normal((200_000, 5))
    truth = float(stats.interquartile_mean(many))
    _, expanded = coverage(stats.interquartile_mean, runs, truth)
    assert 0.93 <= expanded <= 0.97


@pytest.mark.parametrize("runs", [3, 5])
def test_probability_of_improvement(runs: int) -> None:
    # Two equal methods. Below ten seeds the interval errs on the wide side.
    plain, expanded = coverage(stats.probability_of_improvement, runs, truth=0.5, rivals=True)
    assert 0.93 <= expanded <= 0.99
    assert plain < expanded
