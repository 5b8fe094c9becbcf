"""Curves over training steps: the mean over seeds with a confidence band, or every seed alone."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fnmatch import fnmatch

import numpy as np

from rle.report.read.methods import Method, TaskGroup
from rle.report.read.records import MAIN_CURVES, Curve, FloatArray
from rle.report.read.words import plural
from rle.stats import Bootstrap, aggregate_curve, align_curves, mean

SEEDS_FOR_A_BAND = 4
"""With fewer the interval of a mean is so wide that its band hides the curves: it spans most of a
scale with two ends. Each seed is then a line of its own."""
WATCHED = (
    "latent_sensitivity",
    "bonus_*_mean",
    "explained_variance_*",
    "advantage_share_*",
    "entropy",
    "approximate_kl",
)
"""The diagnostics to look at first."""
_NOT_DIAGNOSTIC = re.compile(
    "iteration|step|episodes|seconds|visitation_entropy_max|policy_loss|clip_fraction|gradient_norm"
    "|value_loss_.*|bonus_.*_(std|min|max)"
)
"""Clocks, constants, and what the learner logs for those who look into a single run."""


@dataclass(frozen=True, eq=False)
class MethodCurve:
    """One method over training."""

    seeds: int
    steps: FloatArray
    """`[grid]`, as the next three."""
    values: FloatArray
    """Means over seeds."""
    low: FloatArray | None
    high: FloatArray | None
    """Limits of the mean; None with few seeds."""
    single: tuple[Curve, ...]
    """Every seed's own curve, where there are several and too few for limits."""
    notes: tuple[str, ...]


def method_curve(
    method: Method,
    key: str,
    bounds: tuple[float, float] | None,
    bootstrap: Bootstrap,
    points: int,
) -> MethodCurve | None:
    """A metric of one method at about `points` steps; None if no run has a finite value."""
    curves = finite_curves(method, key)
    if not curves:
        return None
    grid = _grid(curves, points)
    aligned = align_curves(method.label, {method.runs[0].task: curves}, grid)
    low = high = None
    single: tuple[Curve, ...] = ()
    if len(curves) >= SEEDS_FOR_A_BAND:
        band = aggregate_curve(mean, aligned, bootstrap, bounds)
        values, low, high = band.point, band.low, band.high
    else:
        runs = aligned.values[:, :, 0].T
        values = runs.mean(axis=0)
        if len(runs) > 1:
            single = tuple(
                (grid[grid <= steps[-1]], run[grid <= steps[-1]])
                for (steps, _), run in zip(curves, runs, strict=True)
            )
    early = sum(steps[-1] < 0.99 * grid[-1] for steps, _ in curves)
    notes = (
        f"{method.label}: {early} of {len(curves)} runs end early; from there on their last value "
        "counts.",
    )
    return MethodCurve(len(curves), grid, values, low, high, single, notes if early else ())


def seeds_label(method: Method, curve: MethodCurve) -> str:
    """A method in the legend of its curves."""
    return f"{method.label} ({plural(curve.seeds, 'seed')})"


def finite_curves(method: Method, key: str) -> list[Curve]:
    """The curves of a method's runs without the values that are NaN or infinite."""
    curves = []
    for run in method.runs:
        if key in run.curves:
            steps, values = run.curves[key]
            finite = np.isfinite(values)
            if finite.any():
                curves.append((steps[finite], values[finite]))
    return curves


def _grid(curves: list[Curve], points: int) -> FloatArray:
    """Recorded steps of the longest run, from where every run has a value, evenly thinned."""
    longest = max((steps for steps, _ in curves), key=lambda steps: steps[-1])
    start = max(steps[0] for steps, _ in curves)
    recorded: FloatArray = longest[longest >= start]
    kept = np.linspace(0, len(recorded) - 1, min(points, len(recorded))).round().astype(int)
    return np.asarray(recorded[kept], dtype=np.float64)


def diagnostics_of(group: TaskGroup) -> list[str]:
    """The metrics of a task's runs that no other figure shows, those to watch first.

    Whatever a strategy or a task logs is among them, whoever wrote it.
    """
    names = dict.fromkeys(key for run in group.runs for key in run.curves)
    shown = [n for n in names if n not in MAIN_CURVES and not _NOT_DIAGNOSTIC.fullmatch(n)]

    def place(name: str) -> int:
        watched = [fnmatch(name, pattern) for pattern in WATCHED]
        return watched.index(True) if True in watched else len(WATCHED)

    return sorted(shown, key=place)
