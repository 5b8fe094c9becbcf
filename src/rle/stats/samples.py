"""One task, a handful of seeds: means and differences of means, such as coverage of a maze."""

import math
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from rle.errors import UsageError
from rle.stats.aggregates import mean
from rle.stats.bootstrap import aggregate_difference_interval, interval
from rle.stats.interval import DEFAULT_BOOTSTRAP, Bootstrap, Interval
from rle.stats.scores import Scores


def mean_interval(
    values: npt.ArrayLike,
    bounds: tuple[float, float] | None = None,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
) -> Interval:
    """The interval of the mean of one value per seed.

    Args:
        values: `[seeds]`.
        bounds: the ends of the scale where it has any: (0, 1) for a share of cells visited or a
            success rate. Limits stay within, and five successes out of five give an exact limit
            below 1 rather than an interval of no width.
        bootstrap: level, method, resamples, seed.

    """
    return interval(mean, [_one_task("values", values, bounds)], bootstrap, bounds)


def difference_interval(
    first: npt.ArrayLike,
    second: npt.ArrayLike,
    bounds: tuple[float, float] | None = None,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
) -> Interval:
    """The interval of mean(first) - mean(second), two independent samples of seeds.

    Args:
        first: `[seeds]`.
        second: `[seeds]`; their number may differ.
        bounds: as in `mean_interval`, for both samples. Where all seeds of a sample sit at one
            end, the limits of the two means are combined by squaring and adding their distances
            (Newcombe 1998, "Interval estimation for the difference between independent
            proportions", Statistics in Medicine 17, method 10).
        bootstrap: level, method, resamples, seed.

    """
    ours, rivals = _one_task("first", first, bounds), _one_task("second", second, bounds)
    difference = aggregate_difference_interval(mean, ours, rivals, bootstrap)
    if bounds is None or difference.low is None:
        return difference
    one = interval(mean, [ours], bootstrap, bounds)
    other = interval(mean, [rivals], bootstrap, bounds)
    if "exact-bound" in (one.method, other.method):
        difference = _square_and_add(one, other)
    low, high = difference.limits
    scale = bounds[1] - bounds[0]
    return replace(difference, low=max(low, -scale), high=min(high, scale))


def _one_task(name: str, values: npt.ArrayLike, bounds: tuple[float, float] | None) -> Scores:
    """The values as the scores of a single task."""
    scores = Scores.from_runs(name, {"the task": np.asarray(values, dtype=np.float64).tolist()})
    if not scores.runs_per_task[0]:
        raise UsageError(f"{name}: there is no finite value; give one per seed")
    lowest, highest = np.nanmin(scores.values), np.nanmax(scores.values)
    if bounds is not None and not bounds[0] <= lowest <= highest <= bounds[1]:
        raise UsageError(
            f"{name}: values from {lowest:g} to {highest:g} do not lie within the bounds {bounds}"
        )
    return scores


def _square_and_add(one: Interval, other: Interval) -> Interval:
    """The interval of a difference from the intervals of both terms."""
    point = one.point - other.point
    (one_low, one_high), (other_low, other_high) = one.limits, other.limits
    return replace(
        one,
        point=point,
        low=point - math.hypot(one.point - one_low, other_high - other.point),
        high=point + math.hypot(one_high - one.point, other.point - other_low),
        method="square-and-add",
        note=" ".join(dict.fromkeys(filter(None, (one.note, other.note)))),
    )
