"""One task in the page: its tables, curves and pictures."""

from __future__ import annotations

from rle.report.draw.curves import curve_figures, diagnostics_figure
from rle.report.draw.figures import Figure
from rle.report.draw.maps import (
    environment_figure,
    every_seed_figure,
    reward_figure,
    throughout_figure,
    visit_figure,
)
from rle.report.draw.style import LineStyle
from rle.report.draw.suites import ablation_figures
from rle.report.draw.trajectories import every_seed_figures, middle_figure, trajectory_figure
from rle.report.measure.measures import (
    COVERAGE,
    REACHED,
    SCORE,
    SUCCESS,
    Measure,
    TaskMeasures,
    main_measure,
    measure_task,
)
from rle.report.measure.reach import measure_diversity, measure_reach
from rle.report.measure.watched import NO_LOOKS, look_at_all
from rle.report.read.methods import TaskGroup, reference_of
from rle.report.read.moments import Problems
from rle.report.read.words import (
    MOST_NAMED,
    file_name,
    is_fourroom,
    join,
    number_text,
    steps_text,
    task_description,
    task_title,
)
from rle.report.write.page import Section
from rle.report.write.task_tables import (
    differences_table,
    measures_table,
    room_table,
    runs_table,
    settings_table,
)
from rle.stats import Bootstrap, Interval


def task_section(
    group: TaskGroup, styles: dict[str, LineStyle], bootstrap: Bootstrap
) -> tuple[Section, TaskMeasures]:
    """Draw and measure one task."""
    problems = Problems()
    on_grid = is_fourroom(group.task)
    diversities = measure_diversity(group, problems) if on_grid else {}
    looks = look_at_all(group, problems) if on_grid else NO_LOOKS
    reaches = measure_reach(group.methods, looks, bootstrap)
    results = measure_task(group, diversities, bootstrap, reaches)
    figures: list[Figure | None] = [*curve_figures(group, styles, bootstrap)]
    main = main_measure(group.task)
    intervals = {
        label: found[main.key].interval
        for label, found in results.estimates.items()
        if main.key in found
    }
    figures += ablation_figures(group.methods, intervals, main.label.lower(), main.digits, styles)
    if on_grid:
        reference = reference_of(group.methods)
        figures += [
            environment_figure(group),
            visit_figure(group, problems),
            throughout_figure(group, problems),
            every_seed_figure(group, problems),
            middle_figure(group, looks),
            trajectory_figure(group, looks),
            *every_seed_figures(group, looks),
            *(reward_figure(m, m is not reference, problems) for m in group.methods),
        ]
    figures.append(diagnostics_figure(group, styles, bootstrap))
    shown = [measures_table(group, results), differences_table(results), room_table(reaches)]
    section = Section(
        identity=file_name(group.task),
        task=group.task,
        title=task_title(group.task),
        description=task_description(group.task),
        headline=_headline(group, results),
        notes=tuple(dict.fromkeys([*group.notes, *results.notes, *problems.sentences()])),
        tables=tuple(table for table in shown if table is not None),
        folded_tables=(runs_table([group], diversities), settings_table([group])),
        figures=tuple(figure for figure in figures if figure is not None),
    )
    return section, results


def _headline(group: TaskGroup, results: TaskMeasures) -> str:
    """The outcome in two or three sentences."""
    measure = main_measure(group.task)
    outcomes = {
        method.label: results.estimates[method.label][measure.key].interval
        for method in group.methods
        if measure.key in results.estimates[method.label]
    }
    if not outcomes:
        return "No run has a result yet."
    steps = {steps_text(method.steps) for method in group.methods}
    when = f"after {steps.pop()} steps" if len(steps) == 1 else "at the end of training"
    what = {
        COVERAGE: "Share of the free cells visited",
        REACHED: "Share of the task's cells visited",
        SUCCESS: "Share of the last episodes that reached the goal",
        SCORE: "Mean return of the last 128 episodes",
    }[measure]
    left_out = ""
    # To say that one is left out takes as many words as to name it.
    if len(outcomes) > MOST_NAMED + 1:
        ranked = sorted(outcomes, key=lambda label: -outcomes[label].point)
        kept = [*ranked[: MOST_NAMED - 1], ranked[-1]]
        left_out = f"; {len(ranked) - len(kept)} methods lie between the last two"
        outcomes = {label: outcomes[label] for label in kept}
    said = [f"{label} {_with_interval(interval, measure)}" for label, interval in outcomes.items()]
    return f"{what} {when}: {'; '.join(said)}{left_out}. {_verdict(results, measure)}".strip()


def _with_interval(interval: Interval, measure: Measure) -> str:
    text = number_text(interval.point, measure.digits)
    if interval.low is None or interval.high is None:
        return text
    low, high = (number_text(limit, measure.digits) for limit in (interval.low, interval.high))
    return f"{text} (95 % interval {low} to {high})"


def _verdict(results: TaskMeasures, measure: Measure) -> str:
    """Which differences the intervals support."""
    above: list[str] = []
    below: list[str] = []
    undecided: list[str] = []
    reference = ""
    for difference in results.differences:
        reference = difference.reference
        interval = difference.intervals.get(measure.key)
        if interval is None or interval.low is None or interval.high is None:
            continue
        side = above if interval.low > 0 else below if interval.high < 0 else undecided
        side.append(difference.rival)
    sentences = []
    for rivals, phrase in ((above, "above"), (below, "below")):
        if rivals:
            sentences.append(
                f"{reference} is {phrase} {join(rivals)}: the 95 % interval excludes 0."
            )
    if undecided:
        sentences.append(
            f"Between {reference} and {join(undecided)} these seeds do not decide: the interval "
            "of the difference includes 0."
        )
    return " ".join(sentences)
