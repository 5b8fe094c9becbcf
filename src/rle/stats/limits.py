"""From resampled values to confidence limits.

Two methods, both stratified by task:

`percentile` is the plain one (Efron 1979; Agarwal et al. 2021): the quantiles of the resampled
values. With n seeds their variance is short by the factor (n - 1) / n, and the quantiles of a
normal law stand where Student's would be due, so that it is too narrow with few seeds.

`expanded-percentile`, the default, moves both limits away from the median of the resampled values
by the factor sqrt(n / (n - 1)) * t / z, t and z being the quantiles of Student's and of the normal
law. Hesterberg 2015 ("What teachers should know about the bootstrap", The American Statistician
69) proposes this factor for one sample and applies it to the level; with 3 seeds the level it asks
for lies beyond every resample, hence the distance instead. With several strata, n / (n - 1) is
averaged by their part in the variance, and the degrees of freedom are those of Satterthwaite 1946.
The interval always contains the plain one. See also DiCiccio and Efron 1996, "Bootstrap confidence
intervals", Statistical Science 11.

A bootstrap knows only the spread it is shown. A mean of bounded values has limits of its own
(`bounded`, and `melding` for a difference) that need no bootstrap; where the upper end of the scale
is not known, the wider of both is taken on either side.

`docs/statistics.md` has the coverage of all of this.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from rle.stats.aggregates import FloatArray
from rle.stats.bounded import bounded_limits
from rle.stats.bounded_terms import Bounds, bounded_terms
from rle.stats.interval import Bootstrap, Method
from rle.stats.melding import melded_limits
from rle.stats.resampling import Replicates, Statistic, replicate
from rle.stats.student import student_t_quantile


@dataclass(frozen=True, eq=False)
class Limits:
    """Estimates and confidence limits, each `[...]`.

    Attributes:
        point: the statistic on the scores as they are.
        low: lower limits.
        high: upper limits.
        method: a key of `METHODS`.
        resamples: number of bootstrap resamples behind them.

    """

    point: FloatArray
    low: FloatArray
    high: FloatArray
    method: str
    resamples: int = 0


def confidence_limits(
    statistic: Statistic,
    samples: Sequence[FloatArray],
    bootstrap: Bootstrap,
    bounds: Bounds | None = None,
) -> Limits:
    """Confidence limits of a statistic, by the bootstrap or from the ends of its scale.

    Args:
        statistic: takes one array `[..., runs, tasks]` per sample, gives `[...]`.
        samples: one array `[..., runs, tasks]` per method; at least two runs of every task.
        bootstrap: level, method, resamples, seed.
        bounds: the ends of the scale of the scores, for `mean` and a difference of means only.

    """
    terms = bounded_terms(statistic, samples, bounds)
    if bootstrap.method == "percentile" or not terms:
        return _bootstrap_limits(statistic, samples, bootstrap)
    tail = (1.0 - bootstrap.level) / 2.0
    if len(terms) == 1:
        limits = Limits(statistic(*samples), *bounded_limits(terms[0], tail), "bounded")
    else:
        low, high = melded_limits(terms[0], terms[1], tail)
        limits = Limits(statistic(*samples), low, high, "bounded-difference")
    if not terms[0].open_above:
        return limits
    resampled = _bootstrap_limits(statistic, samples, bootstrap)
    bottom = terms[0].bottom if len(terms) == 1 else -np.inf
    return Limits(
        limits.point,
        np.minimum(limits.low, np.maximum(resampled.low, bottom)),
        np.maximum(limits.high, resampled.high),
        "bounded-below",
        bootstrap.resamples,
    )


def _bootstrap_limits(
    statistic: Statistic, samples: Sequence[FloatArray], bootstrap: Bootstrap
) -> Limits:
    rng = np.random.default_rng(bootstrap.seed)
    replicates = replicate(statistic, samples, bootstrap.resamples, rng)
    return limits_of_replicates(replicates, bootstrap.level, bootstrap.method)


def limits_of_replicates(replicates: Replicates, level: float, method: Method) -> Limits:
    """Confidence limits from resampled values alone."""
    tail = (1.0 - level) / 2.0
    low, centre, high = np.quantile(replicates.values, [tail, 0.5, 1.0 - tail], axis=-1)
    if method == "expanded-percentile":
        factor = _expansion(replicates, level)
        low, high = centre + factor * (low - centre), centre + factor * (high - centre)
    return Limits(replicates.point, low, high, method, replicates.values.shape[-1])


def _expansion(replicates: Replicates, level: float) -> FloatArray:
    """sqrt(n / (n - 1)) * t / z for strata of n runs each with a part in the variance, `[...]`."""
    runs = replicates.stratum_runs
    plug_in = replicates.stratum_variances
    # No stratum has a part where all resamples agree; equal parts then avoid 0 / 0.
    plug_in = np.where(plug_in.sum(axis=-1, keepdims=True) > 0.0, plug_in, 1.0)
    unbiased = plug_in * runs / (runs - 1)
    total = unbiased.sum(axis=-1)
    freedom = total**2 / np.sum(unbiased**2 / (runs - 1), axis=-1)
    normal = NormalDist().inv_cdf(0.5 + level / 2.0)
    widening = np.sqrt(total / plug_in.sum(axis=-1))
    factor: FloatArray = widening * student_t_quantile(level, freedom) / normal
    return factor
