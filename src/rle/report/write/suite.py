"""Several tasks in one section of the page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from rle.report.draw.depth import depth_figure
from rle.report.draw.style import LineStyle
from rle.report.draw.suites import suite_figures
from rle.report.measure.depth import Depth, measure_depth
from rle.report.measure.measures import TaskMeasures
from rle.report.measure.suites import IQM, Comparison, SuiteResults
from rle.report.measure.training import Training, reached
from rle.report.read.words import MOST_NAMED, file_name, interval_text, join, number_text
from rle.report.write.page import Section
from rle.report.write.suite_tables import (
    aggregates_table,
    comparisons_table,
    depth_table,
    over_ppo_table,
    scores_table,
    training_table,
)
from rle.report.write.summary import interval_summary
from rle.report.write.task_tables import runs_table, settings_table
from rle.stats import Bootstrap


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
    depths = measure_depth(suite)
    depth = depth_figure(depths, styles)
    tables = [
        aggregates_table(results) if results.aggregates else None,
        comparisons_table(results),
        over_ppo_table(results),
        training_table(trainings),
        depth_table(depths),
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
        figures=(
            *([] if depth is None else [depth]),
            *suite_figures(results, trainings, styles, bootstrap),
        ),
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
        "deep_sea": [_depth_summary(depth) for depth in measure_depth(results.suite)],
        "notes": list(notes),
    }


def _depth_summary(depth: Depth) -> dict[str, Any]:
    return {
        "method": depth.method,
        "sizes": [asdict(one) | {"median": one.median} for one in depth.solvings],
        "exponent": depth.exponent,
    }


def _comparison_summary(found: Comparison) -> dict[str, Any]:
    return {
        "first": found.first,
        "second": found.second,
        "probability_of_improvement": interval_summary(found.improvement),
        "iqm_difference": interval_summary(found.difference),
    }
