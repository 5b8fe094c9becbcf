"""Limits for the mean of values on a bounded scale that hold near its ends too.

Four runs at 0 and one at 0.001 leave a bootstrap next to no spread, but they do not rule out that
one run in three reaches 1. So an unseen run joins those seen, at the end of the scale, and the
limit is a quantile of the mean of all of them under random weights, Dirichlet(1, ..., 1): the bound
of Gaffke 2005 ("Three test statistics for a nonparametric one-sided hypothesis on the mean of a
nonnegative variable", Mathematical Methods of Statistics 14), found again by Learned-Miller and
Thomas 2019 ("A new confidence interval for the mean of a bounded random variable",
arXiv:1905.06208). With successes and failures it is the exact limit of Clopper and Pearson 1934:
for k of n, quantiles of Beta(k, n - k + 1) and of Beta(k + 1, n - k). That it holds for every law
on the scale is conjectured; no exception is known. It moves continuously with the values.

Several tasks: all their runs are one sample with one unseen run. Where the tasks are alike this is
the limit of a single task with all the runs. Where they are not, it errs on the safe side (for
successes: Hoeffding 1956, "On the distribution of the number of successes in independent trials",
Annals of Mathematical Statistics 27), and further than it need, since the tasks are fixed. So what
the tasks evidently differ by is taken off the runs first: see `_task_levels`. The tests enumerate
successes on two and three tasks; the error of either limit stays below its 2.5 % whatever the rates.
"""

from dataclasses import dataclass

import numpy as np

from rle.stats.aggregates import FloatArray
from rle.stats.dirichlet import upper_quantile


@dataclass(frozen=True, eq=False)
class BoundedValues:
    """A statistic as the mean over tasks of means over runs of values on a bounded scale.

    Attributes:
        values: `[..., runs, tasks]`, no run missing.
        bottom: `[...]` or a number, the lower end of the scale.
        top: `[...]` or a number, the upper end of the scale.
        open_above: the scale goes on above `top`, which is the worst to reckon with.

    """

    values: FloatArray
    bottom: FloatArray
    top: FloatArray
    open_above: bool = False

    @property
    def shares(self) -> FloatArray:
        """The values on a scale from 0 to 1, `[..., runs, tasks]`."""
        above: FloatArray = self.values - self.bottom[..., None, None]
        return above / (self.top - self.bottom)[..., None, None]


def bounded_limits(bounded: BoundedValues, tail: float) -> tuple[FloatArray, FloatArray]:
    """The lower and the upper limit of the mean, `[...]` each, each failing with chance `tail`."""
    shares = bounded.shares
    low, high = (
        np.minimum(upper_quantile(upper_knots(side), tail), 1.0) for side in (1.0 - shares, shares)
    )
    scale = bounded.top - bounded.bottom
    return bounded.bottom + scale * (1.0 - low), bounded.bottom + scale * high


def upper_knots(shares: FloatArray) -> FloatArray:
    """The numbers whose mean under random weights gives the upper limit.

    Args:
        shares: `[..., runs, tasks]`, from 0 to 1; seen from the other end, 1 less this, they give
            the lower limit.

    Returns:
        `[..., runs * tasks + 1]`: all runs around the common mean, and last the unseen one.

    """
    centre = shares.mean(axis=(-2, -1))[..., None]
    levels, stretch = _task_levels(shares)
    residuals = stretch[..., None, None] * (shares - levels[..., None, :])
    seen = residuals.reshape(*residuals.shape[:-2], -1)
    unseen = 1.0 - levels.min(axis=-1, keepdims=True)
    return centre + np.concatenate([seen, unseen], axis=-1)


def _task_levels(shares: FloatArray) -> tuple[FloatArray, FloatArray]:
    """What to take off the runs of each task, `[..., tasks]`, and how to stretch what is left.

    The task's own mean would leave too little spread, as it follows its few runs; the mean of all
    tasks leaves what the tasks differ by, which is not chance. Between the two stands the estimate
    of James and Stein: of the variance among the task means, a part is what seeds alone would make
    of equal tasks, and this part of the way they are drawn to the common mean. Deviations from it
    are short by the factor sqrt((n - part) / n), `part` being the rest. For one task, and for
    tasks that differ no more than chance would have it, the level is the common mean: the limit is
    that of a single sample.

    Returns:
        The levels and the stretch, `[..., tasks]` and `[...]`.

    """
    runs, tasks = shares.shape[-2:]
    means = shares.mean(axis=-2)
    centre = means.mean(axis=-1, keepdims=True)
    # Of a task mean, by chance alone, and as found: both times `tasks`.
    chance = np.sum(shares.var(axis=-2), axis=-1) / (runs - 1)
    found = np.sum((means - centre) ** 2, axis=-1) * tasks / max(tasks - 1, 1)
    part = np.where(found > chance, 1.0 - chance / np.where(found > chance, found, 1.0), 0.0)
    return centre + part[..., None] * (means - centre), np.sqrt(runs / (runs - part))
