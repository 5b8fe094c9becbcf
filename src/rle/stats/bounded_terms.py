"""Which measures are means of bounded values, and of which values.

All of them are brought to one form: as many values for every task, no run missing.
"""

from collections.abc import Sequence

import numpy as np

from rle.stats.aggregates import (
    Difference,
    FloatArray,
    mean,
    optimality_gap,
    pair_shares,
    probability_of_improvement,
    runs_per_task,
    shortfalls,
)
from rle.stats.bounded import BoundedValues
from rle.stats.resampling import Statistic

Bounds = tuple[float, float]
"""Both ends of a scale."""


def bounded_terms(
    statistic: Statistic, samples: Sequence[FloatArray], bounds: Bounds | None
) -> tuple[BoundedValues, ...]:
    """The means of bounded values that a statistic consists of.

    Args:
        statistic: the probability of improvement and the optimality gap have a scale of their
            own. The gap's starts at 0 and has no end: a score of 0, which is chance or no reward
            at all, stands for it, or the worst score seen where that is lower.
        samples: one array `[..., runs, tasks]` per method.
        bounds: the ends of the scale of the scores, for `mean` and a difference of means only.

    Returns:
        One, or two for a difference; none if the statistic is unbounded.

    """
    if isinstance(statistic, Difference):
        measure = statistic.measure
        both = [bounded_terms(measure, [sample], bounds) for sample in samples]
        return tuple(term for terms in both for term in terms)
    if bounds is not None and statistic is not mean:
        raise ValueError("bounds are for the mean; other measures know theirs or have none")
    if statistic is probability_of_improvement:
        return (BoundedValues(pair_outcomes(*samples), np.array(0.0), np.array(1.0)),)
    if statistic is optimality_gap:
        gaps = even_runs(shortfalls(samples[0]))
        worst = np.maximum(gaps.max(axis=(-2, -1)), 1.0)
        return (BoundedValues(gaps, np.array(0.0), worst, open_above=True),)
    if bounds is None:
        return ()
    return (BoundedValues(even_runs(samples[0]), np.array(bounds[0]), np.array(bounds[1])),)


def even_runs(sample: FloatArray) -> FloatArray:
    """The scores of every task as equally many, those of the task that has the fewest.

    Sorted scores are divided into that many equal blocks, each of which gives its mean; a score on
    the border counts in both by parts. This keeps the mean of the task and an end of the scale
    where all runs sit.

    Args:
        sample: `[..., runs, tasks]`; NaN marks a missing run, at every point of the leading
            dimensions.

    Returns:
        `[..., fewest runs, tasks]`, no run missing.

    """
    tasks = sample.shape[-1]
    counts = runs_per_task(sample).reshape(-1, tasks)[0]
    fewest = int(counts.min())
    if fewest == sample.shape[-2]:
        return sample
    ordered = np.sort(sample, axis=-2)  # NaN last
    even = np.empty((*sample.shape[:-2], fewest, tasks))
    for task, count in enumerate(counts):
        edges = np.minimum.outer(np.arange(fewest + 1) / fewest, np.arange(count + 1) / count)
        # Length of the part that a block, of length 1 / fewest, has in common with each score.
        common = np.diff(np.diff(edges, axis=0), axis=1)
        even[..., task] = ordered[..., :count, task] @ (fewest * common).T
    return even


def pair_outcomes(first: FloatArray, second: FloatArray) -> FloatArray:
    """Outcomes of as many pairs of runs as are independent, for the probability of improvement.

    All pairs of a task, in the order lost, tied, won, are divided into min(m, n) equal blocks, each
    of which gives its mean: the share won has at most the variance of so many independent pairs
    (Birnbaum and Klose 1957, "Bounds for the variance of the Mann-Whitney statistic", Annals of
    Mathematical Statistics 28).

    Args:
        first: `[..., runs, tasks]`.
        second: `[..., runs, tasks]`, the same tasks.

    Returns:
        `[..., pairs, tasks]`, from 0 (lost) to 1 (won).

    """
    won, lost = pair_shares(first, second)
    pairs = int(min(runs_per_task(first).min(), runs_per_task(second).min()))
    edges = np.arange(pairs + 1)[:, None] / pairs
    # Sum of the outcomes up to there: half a point from the first tie on, the rest from the first win.
    lost, won = lost[..., None, :], won[..., None, :]
    sums = 0.5 * (np.maximum(edges - lost, 0.0) + np.maximum(edges - (1.0 - won), 0.0))
    outcomes: FloatArray = pairs * np.diff(sums, axis=-2)
    return outcomes
