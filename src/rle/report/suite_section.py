"""Several tasks in one section of the page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from rle.report.measures import TaskMeasures
from rle.report.page import Section
from rle.report.style import LineStyle, file_name, number_text
from rle.report.suite_figures import suite_figures
from rle.report.suite_results import IQM, Comparison, SuiteResults
from rle.report.suite_tables import (
    aggregates_table,
    comparisons_table,
    over_ppo_table,
    scores_table,
    training_table,
)
from rle.report.suite_training import Training, reached
from rle.report.summary import interval_summary
from rle.report.tables import interval_text, runs_table, settings_table
from rle.report.wording import MOST_NAMED, join
from rle.stats import Bootstrap

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


def suite_section(
    results: SuiteResults,
    trainings: Sequence[Training],
    measured: dict[str, TaskMeasures],
    styles: dict[str, LineStyle],
    bootstrap: Bootstrap,
    with_details: bool,
) -> Section:
    """Draw a suite; `with_details` if its tasks get no sections of their own."""
    suite = results.suite
    tables = [
        aggregates_table(results) if results.aggregates else None,
        comparisons_table(results),
        over_ppo_table(results),
        training_table(trainings),
        scores_table(suite, measured),
    ]
    folded = (runs_table(suite.groups, {}), settings_table(suite.groups)) if with_details else ()
    return Section(
        identity=f"suite-{file_name(suite.name)}",
        task=f"{suite.name}/",
        title=f"{suite.name.capitalize()}: {len(suite.groups)} tasks together",
        description=(
            f"All tasks of {suite.name} in one picture. To be averaged over tasks, scores are put on "
            f"the scale of the {results.scale.label}: {results.scale.explanation}."
        ),
        headline=_headline(results),
        notes=tuple(
            dict.fromkeys([*results.notes, *(_task_notes(results, measured, with_details))])
        ),
        tables=tuple(table for table in tables if table is not None),
        folded_tables=folded,
        figures=tuple(suite_figures(results, trainings, styles, bootstrap)),
    )


def _task_notes(
    results: SuiteResults, measured: dict[str, TaskMeasures], with_details: bool
) -> list[str]:
    """What sections of the tasks would say."""
    if not with_details:
        return []
    return [
        f"{group.task}: {note}"
        for group in results.suite.groups
        for note in (*group.notes, *measured[group.task].notes)
    ]


def _headline(results: SuiteResults) -> str:
    """The outcome in two sentences."""
    if not results.aggregates:
        return "The methods have no task in common yet."
    ranked = sorted(results.aggregates.items(), key=lambda item: -item[1][IQM].point)
    said = [f"{label} {interval_text(found[IQM], 3)}" for label, found in ranked[:MOST_NAMED]]
    more = len(ranked) - len(said)
    others = f"; {more} other methods are below" if more else ""
    measure = f"IQM of the {results.scale.label} over {len(results.averaged)} tasks"
    sentence = f"{measure}: {'; '.join(said)}{others}."
    better = [c.second for c in results.comparisons if c.improvement.limits[0] > 0.5]
    if not better:
        return sentence
    least = min(c.improvement.point for c in results.comparisons if c.second in better)
    reference = results.comparisons[0].first
    return (
        f"{sentence} A run of {reference} beats one of {join(better)} with a probability of at least "
        f"{number_text(least, 2)}: the 95 % intervals exclude 0.5."
    )


def suite_summary(
    results: SuiteResults, trainings: Sequence[Training], notes: tuple[str, ...]
) -> dict[str, Any]:
    """The numbers of a suite, for programs."""
    return {
        "scale": results.scale.key,
        "tasks": list(results.tasks),
        "averaged_tasks": list(results.averaged),
        "methods": {
            label: {key: interval_summary(interval) for key, interval in found.items()}
            | {"runs_per_task": results.raw[label].runs_per_task.tolist()}
            for label, found in results.aggregates.items()
        },
        "comparisons": [_comparison_summary(found) for found in results.comparisons],
        "over_ppo": [_comparison_summary(found) for found in results.over_ppo],
        "training_needed": {t.key: [asdict(one) for one in reached(t.bands)] for t in trainings},
        "notes": list(notes),
    }


def _comparison_summary(found: Comparison) -> dict[str, Any]:
    return {
        "first": found.first,
        "second": found.second,
        "probability_of_improvement": interval_summary(found.improvement),
        "iqm_difference": interval_summary(found.difference),
    }
