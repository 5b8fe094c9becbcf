"""One task, a handful of seeds: means and differences of means, such as coverage of a maze."""

import numpy as np
import numpy.typing as npt

from rle.errors import UsageError
from rle.stats.aggregates import mean
from rle.stats.bootstrap import aggregate_difference_interval, aggregate_interval
from rle.stats.bounded_terms import Bounds
from rle.stats.interval import DEFAULT_BOOTSTRAP, Bootstrap, Interval
from rle.stats.scores import Scores


def mean_interval(
    values: npt.ArrayLike,
    bounds: Bounds | None = None,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
) -> Interval:
    """The interval of the mean of one value per seed.

    Args:
        values: `[seeds]`.
        bounds: the ends of the scale where it has any: (0, 1) for a share of cells visited or a
            success rate. Limits stay within, and are never narrower than those for bounded
            values: five successes out of five, or nearly so, do not make the sixth certain.
        bootstrap: level, method, resamples, seed.

    """
    return aggregate_interval(mean, _one_task("values", values), bootstrap, bounds)


def difference_interval(
    first: npt.ArrayLike,
    second: npt.ArrayLike,
    bounds: Bounds | None = None,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
) -> Interval:
    """The interval of mean(first) - mean(second), two independent samples of seeds.

    Args:
        first: `[seeds]`.
        second: `[seeds]`; their number may differ.
        bounds: as in `mean_interval`, for both samples.
        bootstrap: level, method, resamples, seed.

    """
    ours, rivals = _one_task("first", first), _one_task("second", second)
    return aggregate_difference_interval(mean, ours, rivals, bootstrap, bounds)


def _one_task(name: str, values: npt.ArrayLike) -> Scores:
    """The values as the scores of a single task."""
    scores = Scores.from_runs(name, {"the task": np.asarray(values, dtype=np.float64).tolist()})
    if not scores.runs_per_task[0]:
        raise UsageError(f"{name}: there is no finite value; give one per seed")
    return scores
