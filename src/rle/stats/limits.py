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
intervals", Statistical Science 11. `docs/statistics.md` has the coverage of both.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from rle.stats.aggregates import FloatArray
from rle.stats.interval import Bootstrap, Method
from rle.stats.resampling import Replicates, Statistic, replicate
from rle.stats.student import student_t_quantile


@dataclass(frozen=True, eq=False)
class Limits:
    """Estimates and confidence limits, each `[...]`.

    Attributes:
        point: the statistic on the scores as they are.
        low: lower limits.
        high: upper limits.
        exact: where the limits are exact because every run sits at an end of the scale.

    """

    point: FloatArray
    low: FloatArray
    high: FloatArray
    exact: npt.NDArray[np.bool_]


def confidence_limits(
    statistic: Statistic,
    samples: Sequence[FloatArray],
    bootstrap: Bootstrap,
    bounds: tuple[float, float] | None = None,
) -> Limits:
    """Confidence limits of a statistic by the stratified bootstrap.

    Args:
        statistic: takes one array `[..., runs, tasks]` per sample, gives `[...]`.
        samples: one array `[..., runs, tasks]` per method; at least two runs of every task.
        bootstrap: level, method, resamples, seed.
        bounds: the ends of the scale, only for a statistic that is a mean over tasks of means
            over runs (or over pairs of runs). Expanded limits are then cut there, and are exact
            where every run sits at one end, where a bootstrap sees no spread at all.

    """
    rng = np.random.default_rng(bootstrap.seed)
    replicates = replicate(statistic, samples, bootstrap.resamples, rng)
    return limits_of_replicates(replicates, bootstrap.level, bootstrap.method, bounds)


def limits_of_replicates(
    replicates: Replicates,
    level: float,
    method: Method,
    bounds: tuple[float, float] | None = None,
) -> Limits:
    """Confidence limits from resampled values; `bounds` as in `confidence_limits`."""
    tail = (1.0 - level) / 2.0
    low, centre, high = np.quantile(replicates.values, [tail, 0.5, 1.0 - tail], axis=-1)
    if method == "expanded-percentile":
        factor = _expansion(replicates, level)
        low, high = centre + factor * (low - centre), centre + factor * (high - centre)
        if bounds is not None:
            return _within_bounds(replicates, low, high, bounds, tail)
    inexact = np.zeros(replicates.point.shape, dtype=np.bool_)
    return Limits(replicates.point, low, high, inexact)


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


def _within_bounds(
    replicates: Replicates,
    low: FloatArray,
    high: FloatArray,
    bounds: tuple[float, float],
    tail: float,
) -> Limits:
    """Cut limits at the ends of the scale; make them exact where every run sits at one end.

    Scale to [0, 1] and let all of T tasks with n runs sit at 1, task t having the true mean m_t.
    A run sits at 1 with probability at most m_t, so all do with probability at most the product
    of the m_t^n, hence at most m^(T n), m being their mean (inequality of the arithmetic and
    geometric mean). The smallest m that leaves this a chance of `tail` is tail^(1 / (T n)): the
    limit of Clopper and Pearson 1934. Pairs of runs: n independent pairs per task, same argument.
    """
    bottom, top = bounds
    independent = int(replicates.stratum_runs.min()) * replicates.tasks
    reach = (top - bottom) * (1.0 - tail ** (1.0 / independent))
    at_bottom, at_top = replicates.point == bottom, replicates.point == top
    low = np.where(at_top, top - reach, np.clip(low, bottom, top))
    high = np.where(at_bottom, bottom + reach, np.clip(high, bottom, top))
    return Limits(replicates.point, low, high, at_bottom | at_top)
