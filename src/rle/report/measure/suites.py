"""The numbers of a suite: its scale, aggregates over its tasks, and how methods compare."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Protocol

import numpy as np

from rle.errors import UsageError
from rle.report.read.methods import Suite
from rle.report.read.words import ATARI, judged_by
from rle.stats import (
    AGGREGATES,
    Band,
    Bootstrap,
    Interval,
    Scores,
    aggregate_difference_interval,
    aggregate_interval,
    atari_reference_scores,
    capped_human_normalised,
    human_normalised,
    interquartile_mean,
    mean,
    performance_profile_band,
    ppo_normalised,
    probability_of_improvement_interval,
    restrict_to_common_tasks,
    task_means,
)
from rle.stats.normalise import AnyTaskValues

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


DEFINITIONS = {
    "IQM": "interquartile mean: the mean of all runs of all tasks but the lowest and the highest "
    "quarter (Agarwal et al. 2021). Every task counts the same, however many seeds it has.",
    "Mean, median": "over tasks, of each task's mean over its seeds.",
    "Optimality gap": "mean over runs of max(1 − normalised score, 0): how far runs fall short of 1; "
    "lower is better (Agarwal et al. 2021).",
    "Capped mean": "mean of the human-normalised score clipped to [0, 1] (CHNS, Badia et al. 2020).",
    "Probability of improvement": "the share of pairs of runs on the same task that the first method "
    "wins, a tie counting half, averaged over tasks (Agarwal et al. 2021).",
}


class Normalise(Protocol):
    """Puts scores or learning curves on another scale."""

    def __call__(self, values: AnyTaskValues, /) -> AnyTaskValues: ...


@dataclass(frozen=True)
class Scale:
    """On what scale scores of different tasks are averaged."""

    key: str
    label: str
    explanation: str
    normalise: Normalise
    mark: tuple[float, str] | None
    """A value everybody knows, and what it is called."""
    shown: tuple[str, ...]
    """The aggregates that have figures, as in the paper: keys of `LABELS`."""
    of_run: str = "the mean return of its last 128 training episodes"
    """What the score of a run is."""
    bounds: tuple[float, float] | None = None
    """The ends of the scale, where it has any."""


def _unchanged(values: AnyTaskValues) -> AnyTaskValues:
    return values


HUMAN = Scale(
    "human_normalised",
    "human-normalised score",
    "(score − random) / (human − random): 0 is a random player, 1 a human (Mnih et al. 2015)",
    human_normalised,
    (1.0, "human"),
    ("iqm", "capped"),
)
PLAIN = Scale(
    "plain",
    "score",
    "the score itself, which has another scale on every task",
    _unchanged,
    None,
    ("iqm",),
)


SUCCESS = Scale(
    "success",
    "success",
    "the share of episodes that succeed, from 0 to 1; of a task without reward, the share of its "
    "cells that were visited",
    _unchanged,
    (1.0, "every episode succeeds"),
    ("iqm", "mean"),
    "the share of its episodes that succeeded, of those that ended in the last 10 % of the steps, or "
    "of the last 128 where it is shown over training",
    (0.0, 1.0),
)


def _ppo_scale(ppo: Scores) -> Scale:
    def normalise(values: AnyTaskValues) -> AnyTaskValues:
        return ppo_normalised(values, ppo)

    return Scale(
        "ppo_normalised",
        "PPO-normalised score",
        f"score / mean final score of {ppo.method} on the task (the RLE paper); intervals treat that "
        "mean as given",
        normalise,
        (1.0, ppo.method),
        ("iqm", "mean"),
    )


def comparable_scores(suite: Suite) -> tuple[dict[str, Scores], list[str]]:
    """The methods' scores on common tasks, and what was left out to get them.

    A method that was run on less than half of the tasks would cost all others theirs: it is left
    out of the comparison over tasks.
    """
    every = {label: suite.scores(label) for label in suite.labels}
    counted = {label: int((scores.runs_per_task > 0).sum()) for label, scores in every.items()}
    known = [scores for label, scores in every.items() if 2 * counted[label] >= len(suite.groups)]
    notes = [
        f"{label} is left out of the comparison over tasks: it has scores on {number} of "
        f"{len(suite.groups)}."
        for label, number in counted.items()
        if 2 * number < len(suite.groups)
    ]
    if suite.name == ATARI:
        unknown = [task for task in (known[0].tasks if known else ()) if not _has_reference(task)]
        if unknown:
            notes.append(
                "Left out of the comparison over tasks, because no human score is known: "
                f"{', '.join(unknown)}."
            )
            kept = [task for task in known[0].tasks if task not in unknown]
            known = [scores.select(kept) for scores in known] if kept else []
    try:
        common, left_out = restrict_to_common_tasks(known)
    except UsageError as error:
        return {}, [*notes, f"There is no comparison over tasks: {error}."]
    notes += left_out
    notes += [note for scores in common for note in scores.notes()]
    return {scores.method: scores for scores in common}, notes


def _has_reference(task: str) -> bool:
    return task in atari_reference_scores()


def choose_scale(
    suite: Suite, scores: dict[str, Scores]
) -> tuple[Scale, tuple[str, ...], list[str]]:
    """A scale, the tasks that have a place on it, and what a reader must know about both.

    Human-normalised for Atari, as they are where tasks are judged by shares, else PPO-normalised; plain
    scores, with a warning, at worst.
    """
    tasks = next(iter(scores.values())).tasks if scores else ()
    if suite.name == ATARI:
        return HUMAN, tasks, []
    if all(judged_by(group.task) != "score" for group in suite.groups):
        return SUCCESS, tasks, []
    ppo = suite.reference("none", scores)
    reason = "there is no PPO to compare with"
    if ppo is not None:
        means = task_means(scores[ppo].values)
        positive = tuple(task for task, mean in zip(tasks, means, strict=True) if mean > 0.0)
        if positive:
            others = [task for task in tasks if task not in positive]
            return _ppo_scale(scores[ppo]), positive, _left_out_of_averages(ppo, others)
        reason = f"the mean score of {ppo} is positive on no task"
    return (
        PLAIN,
        tasks,
        [
            f"Scores are averaged over tasks as they are, because {reason}. Tasks with large scores "
            "count most in such an average: rely on the probability of improvement instead."
        ],
    )


def _left_out_of_averages(ppo: str, tasks: list[str]) -> list[str]:
    if not tasks:
        return []
    return [
        f"Left out of averages over tasks, because the mean score of {ppo} is not positive and cannot "
        f"be divided by: {', '.join(tasks)}. The probability of improvement counts every task."
    ]


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
        found = {
            key: aggregate_interval(m, scores, bootstrap, scale.bounds if key == MEAN else None)
            for key, m in measures.items()
        }
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
    highest = results.scale.bounds[1] if results.scale.bounds else round(highest, 1)
    thresholds = np.linspace(0.0, highest, THRESHOLDS)
    return {
        label: performance_profile_band(scores, thresholds, bootstrap)
        for label, scores in results.normalised.items()
    }
