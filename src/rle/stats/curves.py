"""Sample-efficiency curves: an aggregate over training, with bands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from rle.errors import UsageError
from rle.stats.aggregates import FloatArray, Measure
from rle.stats.bootstrap import band, check_bounds
from rle.stats.bounded_terms import Bounds
from rle.stats.interval import DEFAULT_BOOTSTRAP, Band, Bootstrap

Curve = tuple[npt.ArrayLike, npt.ArrayLike]
"""Training steps, in order, and the value recorded at each."""


@dataclass(frozen=True, eq=False)
class AlignedCurves:
    """The learning curves of one method on a common grid of training steps.

    Attributes:
        method: name of the method.
        tasks: names of the tasks.
        steps: `[grid]`.
        values: `[grid, runs, tasks]`; NaN fills up where a task has fewer runs.
        notes: what was carried forward or left out, in sentences for a reader; often empty.

    """

    method: str
    tasks: tuple[str, ...]
    steps: FloatArray
    values: FloatArray
    notes: tuple[str, ...] = ()

    def with_values(self, values: FloatArray) -> AlignedCurves:
        """The same curves with transformed values."""
        return replace(self, values=values)


def align_curves(
    method: str,
    curves: Mapping[str, Sequence[Curve]],
    steps: npt.ArrayLike | None = None,
    points: int = 101,
) -> AlignedCurves:
    """Put the curves of all runs on one grid; a value holds until the next one is recorded.

    Args:
        method: name of the method.
        curves: the curves of the runs of each task. Values that are not finite are left out and
            reported. A run that ends before the grid does keeps its last value, which is
            reported too.
        steps: `[grid]`, the grid. Without it: `points` equal distances from the first step at
            which every run has a value to the last step of any run.
        points: size of the grid where `steps` is not given.

    """
    absent = [task for task, runs in curves.items() if not runs]
    if not curves or absent:
        raise UsageError(f"{method}: no curves{' for ' + ', '.join(absent) if absent else ''}")
    left_out = 0
    cleaned: dict[str, list[tuple[FloatArray, FloatArray]]] = {}
    for task, runs in curves.items():
        cleaned[task] = []
        for run, curve in enumerate(runs):
            at, value = _finite_points(curve, f"{method}: run {run} of {task}")
            left_out += np.size(curve[0]) - len(at)
            cleaned[task].append((at, value))
    every = [curve for runs in cleaned.values() for curve in runs]
    start = max(at[0] for at, _ in every)
    if steps is None:
        grid = np.linspace(start, max(at[-1] for at, _ in every), points)
    else:
        grid = np.asarray(steps, dtype=np.float64)
    if grid[0] < start:
        raise UsageError(
            f"{method}: the grid starts at step {grid[0]:g}, but one run has no value before step "
            f"{start:g}; start there"
        )
    values = np.full((len(grid), max(map(len, cleaned.values())), len(cleaned)), np.nan)
    for column, runs_of_task in enumerate(cleaned.values()):
        for run, (at, value) in enumerate(runs_of_task):
            values[:, run, column] = value[np.searchsorted(at, grid, side="right") - 1]
    # The last recorded step of runs of equal length differs by up to one logging interval.
    early = sum(at[-1] + _largest_gap(at) < grid[-1] for at, _ in every)
    notes = []
    if left_out:
        notes.append(f"{method}: {left_out} recorded values are NaN or infinite and left out.")
    if early:
        notes.append(
            f"{method}: {early} of {len(every)} runs end before step {grid[-1]:g}; their last "
            "value is carried forward."
        )
    return AlignedCurves(method, tuple(cleaned), grid, values, tuple(notes))


def aggregate_curve(
    measure: Measure,
    curves: AlignedCurves,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    bounds: Bounds | None = None,
) -> Band:
    """An aggregate at every step of the grid, with pointwise limits.

    The same resampled seeds are used at every step, as a run is one draw with all of its curve.
    `bounds` are the ends of the scale where it has any, such as (0, 1) for success; for `mean` only.
    """
    check_bounds(curves.method, curves.values, bounds)
    result = band(measure, curves.steps, curves.values, curves.tasks, bootstrap, bounds)
    return replace(result, notes=result.notes + curves.notes)


def _finite_points(curve: Curve, name: str) -> tuple[FloatArray, FloatArray]:
    at = np.asarray(curve[0], dtype=np.float64)
    value = np.asarray(curve[1], dtype=np.float64)
    if at.ndim != 1 or at.shape != value.shape or np.any(np.diff(at) < 0.0):
        raise UsageError(f"{name}: as many values as steps are needed, and steps in order")
    finite = np.isfinite(value)
    if not finite.any():
        raise UsageError(f"{name} has no finite value; leave this run out")
    return at[finite], value[finite]


def _largest_gap(at: FloatArray) -> float:
    return float(np.diff(at).max(initial=0.0))
