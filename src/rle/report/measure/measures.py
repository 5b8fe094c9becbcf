"""The numbers of a report: one estimate per method and measure, and differences from RLE."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from rle.report.measure.reach import LATENTS, PERIOD, REPEATS, Diversities, Reach
from rle.report.read.methods import Method, TaskGroup, reference_of
from rle.report.read.records import RunRecord
from rle.report.read.words import is_fourroom, judged_by
from rle.stats import Bootstrap, Interval, difference_interval, mean_interval
from rle.tasks import fourroom_plan

MAX_ENTROPY = math.log(int(fourroom_plan.free_cells().sum()))
"""Of visits to FourRoom, in nats."""


@dataclass(frozen=True)
class Measure:
    """Something measured once per run."""

    key: str
    label: str
    explanation: str
    digits: int
    bounds: tuple[float, float] | None = None
    compared: bool = True
    """Whether the difference from RLE is of interest."""
    expected: bool = True
    """Whether the reader is told of runs without it."""
    inferred: bool = True
    """Whether its mean gets an interval: not if it says more about the machine than the method."""


COVERAGE = Measure(
    "coverage",
    "Coverage",
    "share of the 2504 free cells that were visited at least once during training, from 0 to 1.",
    3,
    (0.0, 1.0),
)
ENTROPY = Measure(
    "visitation_entropy",
    "Visitation entropy (nats)",
    "entropy of the share of time spent in each free cell during training; at most ln 2504 = 7.83 "
    "nats, when every cell is visited equally often.",
    2,
    (0.0, MAX_ENTROPY),
)
REACHED = Measure(
    "coverage",
    "Coverage at the end",
    "share of the task's cells that were visited at least once during training, from 0 to 1.",
    4,
    (0.0, 1.0),
)
SUCCESS = Measure(
    "success",
    "Success at the end",
    "share of the episodes that reached the goal (score above 0), of those that ended in the last "
    "10 % of the steps, from 0 to 1.",
    3,
    (0.0, 1.0),
)
SCORE = Measure(
    "score",
    "Score at the end",
    "mean return of the last 128 training episodes, with sampled actions.",
    2,
)
BETWEEN = Measure(
    "diversity_between",
    "Trajectory diversity, different z",
    f"how little two trajectories of {PERIOD} steps from the start under different z overlap: "
    "their Jaccard distance, 1 − (cells visited by both) / (cells visited by either), so that 0 "
    "means the same cells and 1 no common cell. Mean over pairs, from "
    f"{LATENTS} z with {REPEATS} trajectories each and the agent at its last checkpoint. For "
    "NoisyNet a sample of its weight noise takes the place of z; methods with neither have no value.",
    3,
    (0.0, 1.0),
    compared=False,
    expected=False,
)
WITHIN = Measure(
    "diversity_within",
    "Trajectory diversity, same z",
    "the same for repeated trajectories under one z (for methods without z: for any two "
    "trajectories). It is what action noise alone does: z makes a difference where the diversity "
    "of different z is above this.",
    3,
    (0.0, 1.0),
    compared=False,
)
RATE = Measure(
    "steps_per_second",
    "Steps per second",
    "agent steps per second of training time, on the machine and with the load of the moment.",
    0,
    compared=False,
    expected=False,
    inferred=False,
)

ALL_MEASURES = (COVERAGE, ENTROPY, REACHED, SUCCESS, SCORE, BETWEEN, WITHIN, RATE)


def measures_of(task: str) -> tuple[Measure, ...]:
    """What is measured on a task."""
    if not is_fourroom(task):
        return (main_measure(task), RATE)
    success = (SUCCESS,) if judged_by(task) == "success" else ()
    return (COVERAGE, ENTROPY, *success, BETWEEN, WITHIN, RATE)


def main_measure(task: str) -> Measure:
    """The measure a task is about."""
    coverage = COVERAGE if is_fourroom(task) else REACHED
    return {"score": SCORE, "success": SUCCESS, "coverage": coverage}[judged_by(task)]


@dataclass(frozen=True)
class Estimate:
    """A measure of a method: its values by seed, their mean and its interval."""

    values: dict[int, float]
    interval: Interval


@dataclass(frozen=True)
class Difference:
    """RLE minus a rival, by measure."""

    reference: str
    rival: str
    intervals: dict[str, Interval]


@dataclass(frozen=True, eq=False)
class TaskMeasures:
    """All numbers of a task."""

    measures: tuple[Measure, ...]
    estimates: dict[str, dict[str, Estimate]]
    """By label of the method, then key of the measure; absent where nothing was measured."""
    differences: tuple[Difference, ...]
    notes: tuple[str, ...]
    reaches: tuple[Reach, ...] = ()
    """How far trajectories reach, by method and moment; none but in grid worlds."""


def measure_task(
    group: TaskGroup,
    diversities: Diversities,
    bootstrap: Bootstrap,
    reaches: tuple[Reach, ...] = (),
) -> TaskMeasures:
    """Every measure of every method of a task, and the differences between RLE and the others."""
    measures = measures_of(group.task)
    estimates: dict[str, dict[str, Estimate]] = {}
    notes: list[str] = []
    for method in group.methods:
        estimates[method.label] = {}
        for measure in measures:
            values = _values(method, measure, diversities)
            if values:
                interval = _mean(list(values.values()), measure, bootstrap)
                estimates[method.label][measure.key] = Estimate(values, interval)
            missing = [str(run.seed) for run in method.runs if run.seed not in values]
            # Where no run has a value the table shows a dash; where some have, the mean hides it.
            if missing and values and measure.expected:
                seeds = f"seed{'s' if len(missing) > 1 else ''} {', '.join(missing)}"
                notes.append(f"{method.label}: no value of {measure.label.lower()} for {seeds}.")
    return TaskMeasures(
        measures,
        estimates,
        tuple(_differences(group, measures, estimates, bootstrap)),
        tuple(notes),
        reaches,
    )


def _mean(values: list[float], measure: Measure, bootstrap: Bootstrap) -> Interval:
    if measure.inferred:
        return mean_interval(values, measure.bounds, bootstrap)
    return Interval(sum(values) / len(values), None, None, bootstrap.level, "none", 0)


def value_of(run: RunRecord, measure: Measure, diversities: Diversities) -> float | None:
    """What was measured of one run; None if nothing was."""
    diversity = diversities.get(run.name)
    sources: dict[str, Callable[[], float | None]] = {
        SUCCESS.key: lambda: run.success,
        RATE.key: lambda: run.rate,
        SCORE.key: lambda: run.score,
        BETWEEN.key: lambda: diversity.between if diversity else None,
        WITHIN.key: lambda: diversity.within if diversity else None,
    }
    return sources.get(measure.key, lambda: run.final(measure.key))()


def _values(method: Method, measure: Measure, diversities: Diversities) -> dict[int, float]:
    values = {run.seed: value_of(run, measure, diversities) for run in method.runs}
    return {
        seed: value for seed, value in values.items() if value is not None and math.isfinite(value)
    }


def _differences(
    group: TaskGroup,
    measures: tuple[Measure, ...],
    estimates: dict[str, dict[str, Estimate]],
    bootstrap: Bootstrap,
) -> list[Difference]:
    reference = reference_of(group.methods)
    if reference is None:
        return []
    ours = estimates[reference.label]
    result = []
    for method in group.methods:
        if method is reference:
            continue
        theirs = estimates[method.label]
        intervals = {
            measure.key: difference_interval(
                list(ours[measure.key].values.values()),
                list(theirs[measure.key].values.values()),
                measure.bounds,
                bootstrap,
            )
            for measure in measures
            if measure.compared and measure.key in ours and measure.key in theirs
        }
        result.append(Difference(reference.label, method.label, intervals))
    return result


SOLVED = 0.5
"""A seed counts as successful if at least half of its last episodes reached the goal."""


def seeds_with_success(estimate: Estimate) -> int:
    """How many seeds reached the goal in at least half of their last episodes."""
    return sum(value >= SOLVED for value in estimate.values.values())
