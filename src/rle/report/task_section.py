"""One task in the page: its tables, curves and pictures."""

from __future__ import annotations

from functools import partial

from rle.report.curves import CurveDrawing, curve_figures
from rle.report.environment_map import environment_figure
from rle.report.estimates import ablation_figures
from rle.report.figures import Figure
from rle.report.looks import NO_LOOKS, look_at_all
from rle.report.measures import Diversities, TaskMeasures, measure_task
from rle.report.methods import TaskGroup, reference_of
from rle.report.page import Section
from rle.report.pictures import Problems, attempt
from rle.report.records import is_fourroom
from rle.report.reward_maps import reward_figure
from rle.report.room_table import room_table
from rle.report.rooms import measure_reach
from rle.report.style import LineStyle, file_name
from rle.report.tables import differences_table, measures_table, runs_table, settings_table
from rle.report.trajectories import measure_diversity
from rle.report.trajectory_maps import every_seed_figures, middle_figure, trajectory_figure
from rle.report.visit_maps import every_seed_figure, throughout_figure, visit_figure
from rle.report.wording import headline, main_measure, task_description, task_title
from rle.stats import Bootstrap


def task_section(
    group: TaskGroup, styles: dict[str, LineStyle], bootstrap: Bootstrap
) -> tuple[Section, TaskMeasures]:
    """Draw and measure one task."""
    problems = Problems()
    diversities = _diversities(group, problems)
    looks = look_at_all(group, problems) if is_fourroom(group.task) else NO_LOOKS
    reaches = measure_reach(group.methods, looks, bootstrap)
    results = measure_task(group, diversities, bootstrap, reaches)
    figures: list[Figure] = [*curve_figures(group, styles, CurveDrawing(bootstrap))]
    main = main_measure(group.task)
    intervals = {
        label: found[main.key].interval
        for label, found in results.estimates.items()
        if main.key in found
    }
    figures += ablation_figures(group.methods, intervals, main.label.lower(), main.digits, styles)
    if is_fourroom(group.task):
        reference = reference_of(group.methods)
        pictures = [
            environment_figure(group),
            visit_figure(group, problems),
            throughout_figure(group, problems),
            every_seed_figure(group, problems),
            middle_figure(group, looks),
            trajectory_figure(group, looks),
            *every_seed_figures(group, looks),
            *(reward_figure(m, m is not reference, problems) for m in group.methods),
        ]
        figures += [picture for picture in pictures if picture is not None]
    shown = [measures_table(group, results), differences_table(results), room_table(reaches)]
    section = Section(
        identity=file_name(group.task),
        task=group.task,
        title=task_title(group.task),
        description=task_description(group.task),
        headline=headline(group, results),
        notes=tuple(dict.fromkeys([*group.notes, *results.notes, *problems.sentences()])),
        tables=tuple(table for table in shown if table is not None),
        folded_tables=(runs_table([group], diversities), settings_table([group])),
        figures=tuple(figures),
    )
    return section, results


def _diversities(group: TaskGroup, problems: Problems) -> Diversities:
    if not is_fourroom(group.task):
        return {}
    found = {}
    for run in group.runs:
        if run.directory.checkpoint_steps():
            measure = partial(measure_diversity, run)
            diversity = attempt(run, "trajectory diversity", problems, measure)
            if diversity is not None:
                found[run.name] = diversity
    return found
