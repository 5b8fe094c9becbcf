"""The numbers of a suite: aggregates over its tasks, and how methods compare."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rle.report.curves import finite_curves
from rle.report.methods import reference_of
from rle.report.suites import ATARI, Scale, Suite, choose_scale, comparable_scores
from rle.stats import (
    AGGREGATES,
    Band,
    Bootstrap,
    Interval,
    Scores,
    aggregate_curve,
    aggregate_difference_interval,
    aggregate_interval,
    align_curves,
    capped_human_normalised,
    interquartile_mean,
    mean,
    performance_profile_band,
    probability_of_improvement_interval,
)

CURVE_POINTS = 81
THRESHOLDS = 81
IQM = "iqm"

LABELS = {
    IQM: "IQM",
    "mean": "Mean",
    "median": "Median",
    "optimality_gap": "Optimality gap",
    "capped": "Capped mean",
}
"""The aggregates over tasks, in the order of the table."""


@dataclass(frozen=True, eq=False)
class Comparison:
    """The reference method beside a rival, over all tasks."""

    reference: str
    rival: str
    improvement: Interval
    """Probability that a run of the reference beats a run of the rival."""
    difference: Interval
    """Of the IQM."""


@dataclass(frozen=True, eq=False)
class SuiteResults:
    """All numbers of a suite."""

    suite: Suite
    scale: Scale
    raw: dict[str, Scores]
    """By method, on the tasks that are compared."""
    normalised: dict[str, Scores]
    """By method, on those of them that can be averaged."""
    aggregates: dict[str, dict[str, Interval]]
    """By method and aggregate."""
    comparisons: tuple[Comparison, ...]
    notes: tuple[str, ...]

    @property
    def tasks(self) -> tuple[str, ...]:
        """Short names of the tasks that are compared."""
        return next(iter(self.raw.values())).tasks if self.raw else ()

    @property
    def averaged(self) -> tuple[str, ...]:
        """Short names of the tasks whose scores have a common scale."""
        return next(iter(self.normalised.values())).tasks if self.normalised else ()


def measure_suite(suite: Suite, bootstrap: Bootstrap) -> SuiteResults:
    """Aggregate the scores of a suite's tasks."""
    raw, notes = comparable_scores(suite)
    scale, averaged, warnings = choose_scale(suite, raw)
    notes += warnings if raw else []
    normalised = {label: scale.normalise(scores.select(averaged)) for label, scores in raw.items()}
    aggregates: dict[str, dict[str, Interval]] = {}
    for label, scores in normalised.items():
        measures = dict(AGGREGATES)
        if scale.mark is None:
            # Without a common scale there is no level to fall short of.
            del measures["optimality_gap"]
        found = {key: aggregate_interval(m, scores, bootstrap) for key, m in measures.items()}
        if suite.name == ATARI:
            capped = capped_human_normalised(raw[label])
            found["capped"] = aggregate_interval(mean, capped, bootstrap)
        aggregates[label] = {key: found[key] for key in LABELS if key in found}
    return SuiteResults(
        suite,
        scale,
        raw,
        normalised,
        aggregates,
        _compare(suite, raw, normalised, bootstrap),
        tuple(notes),
    )


def _compare(
    suite: Suite, raw: dict[str, Scores], normalised: dict[str, Scores], bootstrap: Bootstrap
) -> tuple[Comparison, ...]:
    """RLE, or the first method where there is no RLE, beside every other one."""
    if not raw:
        return ()
    compared = [m for group in suite.groups for m in group.methods if m.label in raw]
    found = reference_of(compared)
    reference = found.label if found else next(iter(raw))
    return tuple(
        Comparison(
            reference,
            rival,
            probability_of_improvement_interval(raw[reference], raw[rival], bootstrap),
            aggregate_difference_interval(
                interquartile_mean, normalised[reference], normalised[rival], bootstrap
            ),
        )
        for rival in raw
        if rival != reference
    )


def iqm_curve(results: SuiteResults, label: str, bootstrap: Bootstrap) -> Band | str:
    """The IQM of a method over training, or a sentence why there is none.

    The curve ends where the first task's longest run ends, so that no task's last value stands for
    training that never took place.
    """
    methods = results.suite.methods(label)
    curves = {task: finite_curves(methods[task], "score") for task in results.averaged}
    absent = [task for task, found in curves.items() if not found]
    if absent:
        return f"{label} has no curve: nothing was recorded on {', '.join(absent)}."
    start = max(steps[0] for found in curves.values() for steps, _ in found)
    end = min(max(steps[-1] for steps, _ in found) for found in curves.values())
    if start >= end:
        return f"{label} has no curve: its tasks have fewer than two recorded steps in common."
    grid = np.linspace(start, end, CURVE_POINTS)
    aligned = results.scale.normalise(align_curves(label, curves, grid))
    return aggregate_curve(interquartile_mean, aligned, bootstrap)


def profile_bands(results: SuiteResults, bootstrap: Bootstrap) -> dict[str, Band]:
    """The share of runs above each threshold, by method."""
    pooled = np.concatenate([scores.values.ravel() for scores in results.normalised.values()])
    # Beyond the best tenth of all runs a profile is flat; beyond 8 nobody looks (as rliable's).
    highest = float(np.clip(np.nanquantile(pooled, 0.9), 1.5, 8.0))
    thresholds = np.linspace(0.0, round(highest, 1), THRESHOLDS)
    return {
        label: performance_profile_band(scores, thresholds, bootstrap)
        for label, scores in results.normalised.items()
    }
