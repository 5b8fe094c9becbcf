"""Aggregate measures of a matrix of scores, `[..., runs, tasks]`.

Every function takes any number of leading batch dimensions, so that a bootstrap is one call on
an array of resampled matrices. NaN marks a run that is missing. Every task counts the same,
however many runs it has; with equally many runs each measure equals the one in `rliable`.

Source of the definitions: Agarwal et al. 2021, "Deep reinforcement learning at the edge of the
statistical precipice", NeurIPS.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.intp]
Measure = Callable[[FloatArray], FloatArray]
"""One number of a matrix of scores, or one of each in a stack: `[..., runs, tasks]` to `[...]`."""

# A quarter of all runs is cut from either end (Agarwal et al. 2021, section 4.3).
_TRIMMED_PER_SIDE = 0.25


def _as_matrices(scores: npt.ArrayLike) -> FloatArray:
    matrices = np.asarray(scores, dtype=np.float64)
    if matrices.ndim < 2 or 0 in matrices.shape[-2:]:
        raise ValueError(
            f"scores must have shape [..., runs, tasks] with at least one of each, "
            f"got shape {list(matrices.shape)}"
        )
    return matrices


def runs_per_task(scores: npt.ArrayLike) -> IntArray:
    """Number of runs that are there, `[..., runs, tasks]` to `[..., tasks]`.

    Raises:
        ValueError: a task has none; an aggregate over tasks is then undefined.

    """
    counts: IntArray = (~np.isnan(_as_matrices(scores))).sum(axis=-2, dtype=np.intp)
    empty = np.unique(np.argwhere(counts == 0)[..., -1])
    if empty.size:
        raise ValueError(
            f"no scores for the tasks in columns {empty.tolist()}: leave these tasks out, "
            "for every method alike, or add runs"
        )
    return counts


def task_means(scores: npt.ArrayLike) -> FloatArray:
    """Mean over the runs of each task, `[..., runs, tasks]` to `[..., tasks]`."""
    matrices = _as_matrices(scores)
    means: FloatArray
    if np.isnan(matrices).any():
        means = np.nansum(matrices, axis=-2) / runs_per_task(matrices)
    else:
        means = matrices.mean(axis=-2)
    return means


def mean(scores: npt.ArrayLike) -> FloatArray:
    """Mean over tasks of the task means, `[..., runs, tasks]` to `[...]`."""
    result: FloatArray = task_means(scores).mean(axis=-1)
    return result


def median(scores: npt.ArrayLike) -> FloatArray:
    """Median over tasks of the task means, `[..., runs, tasks]` to `[...]`."""
    result: FloatArray = np.median(task_means(scores), axis=-1)
    return result


def optimality_gap(scores: npt.ArrayLike, target: float = 1.0) -> FloatArray:
    """How far the runs fall short of `target` on average, `[..., runs, tasks]` to `[...]`.

    Mean of max(target - score, 0): scores above the target earn nothing, lower is better.
    """
    return mean(shortfalls(scores, target))


def shortfalls(scores: npt.ArrayLike, target: float = 1.0) -> FloatArray:
    """How far each run falls short of `target`; a missing run stays NaN."""
    gaps: FloatArray = np.maximum(target - _as_matrices(scores), 0.0)
    return gaps


def interquartile_mean(scores: npt.ArrayLike) -> FloatArray:
    """Mean of the middle half of all runs of all tasks (IQM), `[..., runs, tasks]` to `[...]`.

    Of N runs, floor(N / 4) are cut from either end, as `scipy.stats.trim_mean(x, 0.25)` does.
    Where tasks have unequal numbers of runs, a run weighs 1 / (runs of its task): else a task
    would count less because some of its seeds crashed.
    """
    matrices = _as_matrices(scores)
    pooled = matrices.reshape(*matrices.shape[:-2], -1)
    if np.isnan(pooled).any():
        return _weighted_interquartile_mean(matrices)
    size = pooled.shape[-1]
    cut = trimmed_per_side(size)
    result: FloatArray = np.sort(pooled, axis=-1)[..., cut : size - cut].mean(axis=-1)
    return result


def trimmed_per_side(runs: int) -> int:
    """How many of all runs the interquartile mean leaves out at either end."""
    return int(_TRIMMED_PER_SIDE * runs)


def _weighted_interquartile_mean(matrices: FloatArray) -> FloatArray:
    """Trimmed mean with weights that add up to the number of runs, equal in sum for each task."""
    counts = runs_per_task(matrices)
    batch = matrices.shape[:-2]
    total = counts.sum(axis=-1)[..., None]
    run_weight = total / (matrices.shape[-1] * counts)
    weights = np.where(np.isnan(matrices), 0.0, run_weight[..., None, :]).reshape(*batch, -1)
    values = matrices.reshape(*batch, -1)
    order = np.argsort(values, axis=-1)
    values = np.take_along_axis(values, order, axis=-1)
    weights = np.take_along_axis(weights, order, axis=-1)
    upper = np.cumsum(weights, axis=-1)
    cut = np.floor(_TRIMMED_PER_SIDE * total)
    # Part of each run's weight that lies between the two cuts.
    kept = np.clip(np.minimum(upper, total - cut) - np.maximum(upper - weights, cut), 0.0, None)
    middle = np.where(kept > 0.0, values, 0.0)
    result: FloatArray = np.sum(kept * middle, axis=-1) / np.sum(kept, axis=-1)
    return result


def probability_of_improvement(first: npt.ArrayLike, second: npt.ArrayLike) -> FloatArray:
    """Probability that a run of `first` beats a run of `second`, averaged over tasks.

    Per task: the share of all pairs of runs that `first` wins, a tie counting half (the
    Mann-Whitney U statistic over the number of pairs).

    Args:
        first: `[..., runs, tasks]`.
        second: `[..., runs, tasks]`, the same tasks in the same order; runs may differ.

    Returns:
        `[...]`.

    """
    won, lost = pair_shares(first, second)
    # A tie is neither; half of it is won.
    result: FloatArray = (0.5 * (1.0 + (won - lost))).mean(axis=-1)
    return result


def pair_shares(first: npt.ArrayLike, second: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
    """The share of pairs of runs that `first` wins and the share it loses, per task.

    Args:
        first: `[..., runs, tasks]`.
        second: `[..., runs, tasks]`, the same tasks in the same order; runs may differ.

    Returns:
        `[..., tasks]` each; what they lack of 1 are ties.

    """
    ours, rivals = _as_matrices(first), _as_matrices(second)
    if ours.shape[-1] != rivals.shape[-1]:
        raise ValueError(
            f"both methods must have the same tasks, got {ours.shape[-1]} and {rivals.shape[-1]}"
        )
    pairs = runs_per_task(ours) * runs_per_task(rivals)
    shape = np.broadcast_shapes(ours.shape[:-2], rivals.shape[:-2]) + ours.shape[-1:]
    won, lost = np.zeros(shape), np.zeros(shape)
    # One rival run at a time: all pairs at once would multiply memory by the number of runs.
    for run in range(rivals.shape[-2]):
        rival = rivals[..., run : run + 1, :]
        won += np.sum(ours > rival, axis=-2)
        lost += np.sum(ours < rival, axis=-2)
    return won / pairs, lost / pairs


@dataclass(frozen=True)
class Difference:
    """The measure of one method less that of another, `[..., runs, tasks]` twice to `[...]`."""

    measure: Measure

    def __call__(self, first: FloatArray, second: FloatArray) -> FloatArray:
        return self.measure(first) - self.measure(second)


def exceeds(scores: npt.ArrayLike, thresholds: npt.ArrayLike) -> FloatArray:
    """1 where a run scores above a threshold, else 0; a missing run stays NaN.

    Args:
        scores: `[..., runs, tasks]`.
        thresholds: `[thresholds]`.

    Returns:
        `[..., thresholds, runs, tasks]`.

    """
    matrices = _as_matrices(scores)[..., None, :, :]
    levels = np.asarray(thresholds, dtype=np.float64)[:, None, None]
    return np.where(np.isnan(matrices), np.nan, matrices > levels)


def performance_profile(scores: npt.ArrayLike, thresholds: npt.ArrayLike) -> FloatArray:
    """Share of runs that score above each threshold (run-score distribution).

    Args:
        scores: `[..., runs, tasks]`.
        thresholds: `[thresholds]`.

    Returns:
        `[..., thresholds]`.

    """
    return mean(exceeds(scores, thresholds))


AGGREGATES: Mapping[str, Measure] = MappingProxyType(
    {
        "iqm": interquartile_mean,
        "median": median,
        "mean": mean,
        "optimality_gap": optimality_gap,
    }
)
"""The aggregates of one method's scores, by the short name used in tables."""
