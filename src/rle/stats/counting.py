"""Measures of resampled scores from how often each run was drawn, without resampled scores.

A resample holds the same scores again, some several times. So scores are sorted once, and a
resample is a column of counts: its mean is a product with the scores, its interquartile mean a
product with what is left of the counts between the two cuts. This gives the values of `aggregates`
on the resampled matrices, an order of magnitude faster.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from rle.stats.aggregates import FloatArray, interquartile_mean, mean, trimmed_per_side

Rows = npt.NDArray[np.unsignedinteger]
"""`[resamples, runs, tasks]`, which run each resampled run is."""
Counts = npt.NDArray[np.unsignedinteger]
"""`[runs, tasks, resamples]`, how often each run was drawn."""


def count_draws(rows: Rows) -> Counts:
    """How often each run was drawn, `[resamples, runs, tasks]` to `[runs, tasks, resamples]`."""
    # With resamples last, everything below is whole rows at a time.
    drawn = np.ascontiguousarray(rows.transpose(1, 2, 0))
    counts = np.empty(drawn.shape, dtype=drawn.dtype)
    for run in range(len(drawn)):
        np.sum(drawn == run, axis=0, dtype=drawn.dtype, out=counts[run])
    return counts


def counted_mean(scores: FloatArray, counts: Counts) -> FloatArray:
    """`mean` of each resample, `[..., runs, tasks]` to `[..., resamples]`."""
    runs, tasks = scores.shape[-2:]
    # Distances from a score of the same task are exactly 0 where runs agree, and so is their sum.
    first = scores[..., :1, :]
    distances = (scores - first).reshape(*scores.shape[:-2], runs * tasks)
    sums = distances @ counts.reshape(runs * tasks, -1).astype(np.float64)
    result: FloatArray = sums / (runs * tasks) + mean(first)[..., None]
    return result


def counted_interquartile_mean(scores: FloatArray, counts: Counts) -> FloatArray:
    """`interquartile_mean` of each resample, `[..., runs, tasks]` to `[..., resamples]`."""
    size = scores.shape[-2] * scores.shape[-1]
    flat, drawn = scores.reshape(-1, size), counts.reshape(size, -1)
    cut = trimmed_per_side(size)
    result = np.empty((len(flat), drawn.shape[1]))
    for number, values in enumerate(flat):
        order = np.argsort(values)
        # Runs of the resample up to this one; between the cuts lies what counts.
        upper = drawn[order].astype(np.min_scalar_type(-size))
        for row, above in zip(upper[1:], upper, strict=False):
            row += above  # `np.cumsum` goes column by column, which takes three times as long
        np.clip(upper, cut, size - cut, out=upper)
        kept = np.diff(upper, axis=0, prepend=upper.dtype.type(cut))
        middle = values[order[size // 2]]
        distances = values[order] - middle
        result[number] = distances @ kept.astype(np.float64) / (size - 2 * cut) + middle
    return result.reshape(*scores.shape[:-2], -1)


CountedMeasure = Callable[[FloatArray, Counts], FloatArray]

COUNTED: Mapping[object, CountedMeasure] = MappingProxyType(
    {mean: counted_mean, interquartile_mean: counted_interquartile_mean}
)
"""By measure; all of them for complete scores only."""
