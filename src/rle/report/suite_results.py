"""The numbers of a suite: aggregates over its tasks, and how methods compare."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from rle.report.suites import ATARI, Scale, Suite, choose_scale, comparable_scores
from rle.stats import (
    AGGREGATES,
    Band,
    Bootstrap,
    Interval,
    Scores,
    aggregate_difference_interval,
    aggregate_interval,
    capped_human_normalised,
    interquartile_mean,
    mean,
    performance_profile_band,
    probability_of_improvement_interval,
)

THRESHOLDS = 81
IQM, MEAN, CAPPED = "iqm", "mean", "capped"

LABELS = {
    IQM: "IQM",
    MEAN: "Mean",
    "median": "Median",
    "optimality_gap": "Optimality gap",
    CAPPED: "Capped mean",
}
"""The aggregates over tasks, in the order of the table."""


def aggregate_name(scale: Scale, key: str) -> str:
    """What an axis with an aggregate is called; of those that have figures."""
    if key == CAPPED:
        return f"mean capped {scale.label}"
    return f"IQM of the {scale.label}" if key == IQM else f"mean {scale.label}"


def aggregate_definition(scale: Scale, key: str, tasks: int) -> str:
    """The same in full."""
    if key == IQM:
        return f"interquartile mean (IQM) over all runs of {tasks} tasks of the {scale.label}"
    capped = ", clipped to [0, 1] in every run (CHNS, Badia et al. 2020)" if key == CAPPED else ""
    return f"mean over {tasks} tasks of the {scale.label}{capped}"


@dataclass(frozen=True, eq=False)
class Comparison:
    """One method beside another, over all tasks."""

    first: str
    second: str
    improvement: Interval
    """Probability that a run of the first beats a run of the second."""
    difference: Interval
    """Of the IQM: the first minus the second."""


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
    """RLE, or the first method where there is no RLE, beside every other one."""
    over_ppo: tuple[Comparison, ...]
    """Every method beside PPO; none of two methods, which `comparisons` has."""
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
            found[CAPPED] = aggregate_interval(mean, capped, bootstrap, bounds=(0.0, 1.0))
        aggregates[label] = {key: found[key] for key in LABELS if key in found}
    compare = partial(_compare, raw=raw, normalised=normalised, bootstrap=bootstrap)
    reference = suite.reference("rle", raw) or next(iter(raw), None)
    ppo = suite.reference("none", raw) if len(raw) > 2 else None
    return SuiteResults(
        suite,
        scale,
        raw,
        normalised,
        aggregates,
        tuple(compare(reference, rival) for rival in raw if reference and rival != reference),
        tuple(compare(label, ppo) for label in raw if ppo and label != ppo),
        tuple(notes),
    )


def _compare(
    first: str,
    second: str,
    raw: dict[str, Scores],
    normalised: dict[str, Scores],
    bootstrap: Bootstrap,
) -> Comparison:
    return Comparison(
        first,
        second,
        probability_of_improvement_interval(raw[first], raw[second], bootstrap),
        aggregate_difference_interval(
            interquartile_mean, normalised[first], normalised[second], bootstrap
        ),
    )


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
