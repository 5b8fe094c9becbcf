"""The stratified bootstrap: runs are drawn with replacement within each task.

The tasks are fixed, the seeds are the sample (Agarwal et al. 2021, section 4.1), so each task of
each method is a stratum of its own.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from rle.stats.aggregates import FloatArray, IntArray, runs_per_task
from rle.stats.counting import COUNTED, Counts, Rows, count_draws

# Scores resampled at a time: 2.4 MB for each of the few arrays a statistic makes of them. Larger
# ones are given back to the system after every use, and getting them anew costs more than the sums.
_SCORES_PER_CHUNK = 300_000

Statistic = Callable[..., FloatArray]
"""Takes one array `[..., runs, tasks]` per sample, gives `[...]`."""


@dataclass(frozen=True, eq=False)
class Replicates:
    """A statistic on the scores as they are and on resampled scores.

    Attributes:
        point: `[...]`.
        values: `[..., resamples]`.
        stratum_variances: `[..., strata]`, each stratum's part in the variance of `values`.
        stratum_runs: `[strata]`, number of runs in each stratum.

    """

    point: FloatArray
    values: FloatArray
    stratum_variances: FloatArray
    stratum_runs: IntArray


def replicate(
    statistic: Statistic,
    samples: Sequence[FloatArray],
    resamples: int,
    rng: np.random.Generator,
) -> Replicates:
    """Evaluate `statistic` on resampled scores.

    Args:
        statistic: called with as many arrays as there are samples.
        samples: one array `[..., runs, tasks]` per method, independent of each other. A leading
            dimension (points of a learning curve, thresholds) shares the resampled seeds. NaN
            marks a missing run; it is missing at every point of the leading dimension.
        resamples: number of resamples.
        rng: where the random numbers come from.

    """
    point = np.asarray(statistic(*samples))
    counts = [runs_per_task(sample).reshape(-1, sample.shape[-1])[0] for sample in samples]
    packed = [_finite_first(sample) for sample in samples]
    values = np.empty((*point.shape, resamples))
    picks = [_PickCovariance(point, sample) for sample in packed]
    whole = len(packed) == 1 and bool(np.all(counts[0] == packed[0].shape[-2]))
    counted = COUNTED.get(statistic) if whole else None
    # Counts are shared by all points of a leading dimension, resampled scores are not.
    chunk = max(1, _SCORES_PER_CHUNK // max(map(_matrix_size if counted else np.size, packed)))
    for start in range(0, resamples, chunk):
        size = min(chunk, resamples - start)
        rows = [
            _draw_rows(count, sample.shape[-2], size, rng)
            for count, sample in zip(counts, packed, strict=True)
        ]
        draws = [count_draws(row) for row in rows]
        if counted is None:
            drawn = [_take_rows(sample, row) for sample, row in zip(packed, rows, strict=True)]
            found = statistic(*drawn)
        else:
            found = counted(packed[0], draws[0])
        values[..., start : start + size] = found
        for pick, draw in zip(picks, draws, strict=True):
            pick.add(found, draw)
    variances = [
        pick.stratum_variances(values, count) for pick, count in zip(picks, counts, strict=True)
    ]
    return Replicates(point, values, np.concatenate(variances, axis=-1), np.concatenate(counts))


def _matrix_size(sample: FloatArray) -> int:
    return sample.shape[-2] * sample.shape[-1]


def _finite_first(sample: FloatArray) -> FloatArray:
    """Within each task, the runs that are there first and the missing ones after them."""
    missing = np.isnan(sample)
    if not missing.any():
        return sample
    order = np.argsort(missing, axis=-2, kind="stable")
    return np.take_along_axis(sample, order, axis=-2)


def _draw_rows(counts: IntArray, runs: int, size: int, rng: np.random.Generator) -> Rows:
    """Which run each resampled run is, `[size, runs, tasks]`; a missing run stays itself."""
    uniform = rng.random((size, runs, len(counts)), dtype=np.float32)
    uniform *= counts.astype(np.float32)
    # The smallest type that can count the runs. A float32 below 1 times a whole number n never
    # rounds up to n.
    rows: Rows = uniform.astype(np.min_scalar_type(runs))
    if np.all(counts == runs):
        return rows
    own = np.arange(runs, dtype=rows.dtype)[:, None]
    return np.where(own < counts, rows, own)


def _take_rows(sample: FloatArray, rows: Rows) -> FloatArray:
    """`[..., runs, tasks]` and `[size, runs, tasks]` to `[..., size, runs, tasks]`."""
    runs, tasks = sample.shape[-2:]
    flat = sample.reshape(*sample.shape[:-2], runs * tasks)
    places = rows.astype(np.intp)
    places *= tasks
    places += np.arange(tasks)
    taken: FloatArray = np.take(flat, places, axis=-1, mode="clip")
    return taken


class _PickCovariance:
    """Covariance, over resamples, of the statistic with how often each run was drawn.

    This is the infinitesimal jackknife estimated from the bootstrap itself (Efron 2014,
    "Estimation and accuracy after model selection", JASA 109, theorem 1). It tells which strata
    a statistic depends on, for any statistic, at no further evaluation of it.
    """

    def __init__(self, point: FloatArray, sample: FloatArray) -> None:
        runs, tasks = sample.shape[-2:]
        self._point = point[..., None]
        self._products = np.zeros((runs, *point.shape, tasks))
        self._picks = np.zeros((runs, tasks))

    def add(self, values: FloatArray, draws: Counts) -> None:
        # Deviations from the point, not raw values, for the sake of precision.
        deviations = values - self._point
        for run, picks in enumerate(draws):
            self._products[run] += deviations @ picks.T.astype(np.float64)
            self._picks[run] += picks.sum(axis=-1)

    def stratum_variances(self, values: FloatArray, counts: IntArray) -> FloatArray:
        """Sum over a stratum's runs of the squared covariance, `[..., tasks]`.

        The noise of a finite number of resamples adds (n - 1) / n * variance / resamples to
        each square on average (Wager, Hastie and Efron 2014, JMLR 15); it is taken off.
        """
        resamples = values.shape[-1]
        deviation = (values - self._point).mean(axis=-1)[..., None]
        picks = self._picks.reshape(len(self._picks), *(1,) * (deviation.ndim - 1), -1)
        covariances = (self._products - deviation * picks) / resamples
        noise = (counts - 1) * values.var(axis=-1)[..., None] / resamples
        variances: FloatArray = np.maximum(np.sum(covariances**2, axis=0) - noise, 0.0)
        return variances
