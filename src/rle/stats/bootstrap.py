"""Confidence intervals of aggregates, of differences, and of the probability of improvement.

How limits are made is in `limits`; here they meet named methods and tasks.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from rle.errors import UsageError
from rle.stats.aggregates import (
    Difference,
    FloatArray,
    Measure,
    exceeds,
    mean,
    probability_of_improvement,
    runs_per_task,
)
from rle.stats.bounded_terms import Bounds
from rle.stats.interval import DEFAULT_BOOTSTRAP, Band, Bootstrap, Interval
from rle.stats.limits import confidence_limits
from rle.stats.resampling import Statistic
from rle.stats.scores import Scores

ScoresLike = Scores | npt.ArrayLike
"""Scores, or a matrix `[runs, tasks]` of them."""

_NO_SPREAD = (
    "All resamples agree: the runs do not differ enough to show any spread, which does not make "
    "the value certain."
)
_EXACT = "Every run sits at the end of the scale: the limit is the exact binomial one."
# Of the scale: what sums of shares may round to.
_ROUNDING = 1e-9


def aggregate_interval(
    measure: Measure,
    scores: ScoresLike,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    bounds: Bounds | None = None,
) -> Interval:
    """The interval of an aggregate of one method's scores.

    Args:
        measure: one of `AGGREGATES`, or any other. The optimality gap is known to start at 0.
        scores: of the method.
        bootstrap: level, method, resamples, seed.
        bounds: the ends of the scale of the scores where it has any, such as (0, 1) for capped
            human-normalised scores; for `mean` only.

    """
    return interval(measure, [as_scores(scores)], bootstrap, bounds)


def aggregate_difference_interval(
    measure: Measure,
    first: ScoresLike,
    second: ScoresLike,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    bounds: Bounds | None = None,
) -> Interval:
    """The interval of `measure(first) - measure(second)`; the methods are resampled apart.

    `bounds` is as in `aggregate_interval`, for the scores of both.
    """
    pair = _on_the_same_tasks(first, second)
    return interval(Difference(measure), pair, bootstrap, bounds)


def probability_of_improvement_interval(
    first: ScoresLike, second: ScoresLike, bootstrap: Bootstrap = DEFAULT_BOOTSTRAP
) -> Interval:
    """The interval of the probability that a run of `first` beats a run of `second`."""
    pair = _on_the_same_tasks(first, second)
    return interval(probability_of_improvement, pair, bootstrap)


def pairwise_probability_of_improvement(
    methods: Sequence[Scores], bootstrap: Bootstrap = DEFAULT_BOOTSTRAP
) -> dict[tuple[str, str], Interval]:
    """The probability that the first method improves over the second, for every ordered pair."""
    intervals = {}
    for position, first in enumerate(methods):
        for second in methods[position + 1 :]:
            forward = probability_of_improvement_interval(first, second, bootstrap)
            intervals[first.method, second.method] = forward
            # A tie counts half, so the probability the other way round is the complement.
            intervals[second.method, first.method] = replace(
                forward,
                point=1.0 - forward.point,
                low=None if forward.high is None else 1.0 - forward.high,
                high=None if forward.low is None else 1.0 - forward.low,
            )
    return intervals


def performance_profile_band(
    scores: ScoresLike, thresholds: npt.ArrayLike, bootstrap: Bootstrap = DEFAULT_BOOTSTRAP
) -> Band:
    """The share of runs above each threshold, with pointwise limits."""
    named = as_scores(scores)
    grid = np.asarray(thresholds, dtype=np.float64)
    return band(mean, grid, exceeds(named.values, grid), named.tasks, bootstrap, bounds=(0.0, 1.0))


def interval(
    statistic: Statistic,
    samples: Sequence[Scores],
    bootstrap: Bootstrap,
    bounds: Bounds | None = None,
) -> Interval:
    """The interval of any statistic of one or more methods; arguments as `confidence_limits`."""
    values = [sample.values for sample in samples]
    for sample in samples:
        check_bounds(sample.method, sample.values, bounds)
    notes = [note for sample in samples for note in sample.notes()]
    reasons = [why_no_interval(sample.values, sample.tasks) for sample in samples]
    if any(reasons):
        point = float(statistic(*values))
        note = " ".join(dict.fromkeys(filter(None, [*reasons, *notes])))
        return Interval(point, None, None, bootstrap.level, "none", 0, note)
    limits = confidence_limits(statistic, values, bootstrap, bounds)
    point, low, high = float(limits.point), float(limits.low), float(limits.high)
    if low == high:
        notes = [_NO_SPREAD, *notes]
    elif limits.method == "bounded" and point in (low, high):
        notes = [_EXACT, *notes]
    note = " ".join(notes)
    return Interval(point, low, high, bootstrap.level, limits.method, limits.resamples, note)


def band(
    measure: Measure,
    grid: FloatArray,
    values: FloatArray,
    tasks: Sequence[str],
    bootstrap: Bootstrap,
    bounds: Bounds | None = None,
) -> Band:
    """Pointwise intervals of a measure along a grid, all with the same resampled seeds.

    Args:
        measure: takes `[..., runs, tasks]`, gives `[...]`.
        grid: `[grid]`.
        values: `[grid, runs, tasks]`.
        tasks: their names.
        bootstrap: level, method, resamples, seed.
        bounds: as in `confidence_limits`.

    """
    reason = why_no_interval(values[0], tasks)
    if reason:
        nothing = np.full(len(grid), np.nan)
        point = measure(values)
        return Band(grid, point, nothing, nothing, bootstrap.level, "none", 0, (reason,))
    limits = confidence_limits(measure, [values], bootstrap, bounds)
    exact = (limits.point == limits.low) | (limits.point == limits.high)
    noted = limits.method == "bounded" and exact.any()
    notes = (f"At {exact.sum()} points: {_EXACT}",) if noted else ()
    return Band(
        grid,
        limits.point,
        limits.low,
        limits.high,
        bootstrap.level,
        limits.method,
        limits.resamples,
        notes,
    )


def why_no_interval(values: FloatArray, tasks: Sequence[str]) -> str:
    """A sentence naming the tasks with a single run in `[runs, tasks]`; empty if there is none."""
    counts = runs_per_task(values)
    single = [task for task, count in zip(tasks, counts, strict=True) if count < 2]
    if not single:
        return ""
    where = "each task" if len(single) == len(tasks) else ", ".join(single)
    return (
        f"No interval: one run only on {where}. A single run tells nothing about how much runs "
        "differ; add seeds."
    )


def check_bounds(name: str, values: FloatArray, bounds: Bounds | None) -> None:
    """Explain values `[..., runs, tasks]` that lie outside the bounds they are said to have."""
    if bounds is None:
        return
    lowest, highest = np.nanmin(values), np.nanmax(values)
    rounding = _ROUNDING * (bounds[1] - bounds[0])
    if not bounds[0] - rounding <= lowest <= highest <= bounds[1] + rounding:
        raise UsageError(
            f"{name}: values from {lowest:g} to {highest:g} do not lie within the bounds {bounds}"
        )


def as_scores(scores: ScoresLike) -> Scores:
    """Scores as they are, or a matrix `[runs, tasks]` with numbered tasks; none without a run."""
    if isinstance(scores, Scores):
        return scores.require_every_task()
    matrix = np.asarray(scores, dtype=np.float64)
    tasks = [f"task {column}" for column in range(matrix.shape[-1])]
    return Scores.from_matrix("method", tasks, matrix).require_every_task()


def _on_the_same_tasks(first: ScoresLike, second: ScoresLike) -> list[Scores]:
    ours, rivals = as_scores(first), as_scores(second)
    unshared = sorted(set(ours.tasks) ^ set(rivals.tasks))
    if unshared:
        raise UsageError(
            f"{ours.method} and {rivals.method} were not run on the same tasks "
            f"({', '.join(unshared)}); restrict_to_common_tasks leaves these out and says so"
        )
    return [ours, rivals.select(ours.tasks)]
