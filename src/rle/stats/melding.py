"""Limits for the difference of two means of bounded values: the laws of both limits, melded.

For every confidence level there is an upper limit of the one mean and a lower limit of the other;
with a level drawn at random for each they are random numbers, and a quantile of their difference is
the upper limit of the difference of the means (Fay, Proschan and Brittain 2015, "Combining
one-sample confidence procedures for inference in the two-sample case", Biometrics 71). With
successes and failures the limits agree with Fisher's exact test: the lower one is above 0 where the
test's chance is below 2.5 %.

Squaring and adding the distances of both pairs of limits (Newcombe 1998, "Interval estimation for
the difference between independent proportions", Statistics in Medicine 17) is simpler. But with ten
seeds each, one method succeeding in 97 % of its runs and the other in 3 %, it contains the truth in
92.7 % of the cases; melding does in 97.5 % or more, whatever the rates.
"""

import numpy as np

from rle.stats.aggregates import FloatArray
from rle.stats.bounded import BoundedValues, upper_knots
from rle.stats.dirichlet import quantiles

# Pairs of levels: a lattice made from two successive numbers of Fibonacci fills a square evenly, and
# each of its sides (Niederreiter 1992, "Random number generation and quasi-Monte Carlo methods",
# chapter 5). The square of this shift leaves the rest 1, so the pairs stay the same when exchanged.
_PAIRS, _SHIFT = 46_368, 28_657


def melded_limits(
    first: BoundedValues, second: BoundedValues, tail: float
) -> tuple[FloatArray, FloatArray]:
    """Limits of mean(first) - mean(second), `[...]` each, each failing with chance `tail`."""
    exchanged = np.arange(_PAIRS) * _SHIFT % _PAIRS
    our_low, our_high = _limits_at_all_levels(first)
    rival_low, rival_high = (limit[..., exchanged] for limit in _limits_at_all_levels(second))
    low: FloatArray = np.quantile(our_low - rival_high, tail, axis=-1)
    high: FloatArray = np.quantile(our_high - rival_low, 1.0 - tail, axis=-1)
    return low, high


def _limits_at_all_levels(bounded: BoundedValues) -> tuple[FloatArray, FloatArray]:
    """Lower and upper limits of the mean at evenly spaced levels, `[..., pairs]` each."""
    levels = (np.arange(_PAIRS) + 0.5) / _PAIRS
    shares = bounded.shares
    low, high = (
        np.minimum(quantiles(upper_knots(side), levels), 1.0) for side in (1.0 - shares, shares)
    )
    bottom, scale = bounded.bottom[..., None], (bounded.top - bounded.bottom)[..., None]
    return bottom + scale * (1.0 - low), bottom + scale * high
