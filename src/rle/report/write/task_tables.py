"""The tables of a task: measures, differences, rooms reached, every run, every setting."""

from __future__ import annotations

from collections.abc import Sequence

from rle.report.measure.measures import (
    SOLVED,
    SUCCESS,
    Estimate,
    TaskMeasures,
    measures_of,
    seeds_with_success,
    value_of,
)
from rle.report.measure.reach import RULE, Diversities, Reach
from rle.report.read.methods import TaskGroup
from rle.report.read.moments import Moment, moment_name
from rle.report.read.words import DASH, span, steps_text
from rle.report.write.tables import Cell, Table, count, estimate_cell, number, word


def measures_table(group: TaskGroup, results: TaskMeasures) -> Table:
    """One row per method."""
    headings = [("method", "Method"), ("seeds", "Seeds"), ("steps", "Steps")]
    for measure in results.measures:
        headings.append((measure.key, measure.label))
        if measure is SUCCESS:
            headings.append(("seeds_with_success", f"Seeds with success ≥ {SOLVED}"))
    rows = []
    for method in group.methods:
        estimates = results.estimates[method.label]
        cells = [
            word(method.label),
            count(len(method.runs)),
            count(method.steps, steps_text(method.steps)),
        ]
        for measure in results.measures:
            estimate = estimates.get(measure.key)
            interval = None if estimate is None else estimate.interval
            cells.append(estimate_cell(interval, measure.digits))
            if measure is SUCCESS:
                cells.append(_solved_cell(estimate))
        rows.append(tuple(cells))
    return Table(
        "measures",
        "Measures",
        "Means over seeds with 95 % confidence intervals in brackets.",
        tuple(headings),
        tuple(rows),
    )


def _solved_cell(estimate: Estimate | None) -> Cell:
    if estimate is None:
        return Cell(DASH, None, (("", None),))
    solved = seeds_with_success(estimate)
    return count(solved, f"{solved} of {len(estimate.values)}")


def differences_table(results: TaskMeasures) -> Table | None:
    """One row per rival; None without RLE or without rivals."""
    if not results.differences:
        return None
    reference = results.differences[0].reference
    compared = [measure for measure in results.measures if measure.compared]
    rows = tuple(
        (
            word(f"{reference} − {difference.rival}"),
            *(
                estimate_cell(difference.intervals.get(measure.key), measure.digits, signed=True)
                for measure in compared
            ),
        )
        for difference in results.differences
    )
    return Table(
        "differences",
        f"{reference} minus each rival",
        "Differences of the means with 95 % confidence intervals; bold where the interval excludes "
        "zero.",
        (("difference", "Difference"), *((m.key, m.label) for m in compared)),
        rows,
    )


def runs_table(groups: Sequence[TaskGroup], diversities: Diversities) -> Table:
    """One row per run; with several tasks, their names come first."""
    measures = list(dict.fromkeys(m for group in groups for m in measures_of(group.task)))
    several = len(groups) > 1
    rows = []
    for group in groups:
        for method in group.methods:
            for run in method.runs:
                values = (number(value_of(run, m, diversities), m.digits) for m in measures)
                rows.append(
                    (
                        *([word(group.task)] if several else []),
                        word(method.label),
                        count(run.seed),
                        count(run.step),
                        word("finished" if run.finished else "not finished"),
                        *values,
                        word(run.name),
                    )
                )
    headings = (
        *([("task", "Task")] if several else []),
        ("method", "Method"),
        ("seed", "Seed"),
        ("steps", "Steps"),
        ("state", "State"),
        *((measure.key, measure.label) for measure in measures),
        ("folder", "Folder"),
    )
    return Table("runs", "Every run", "", headings, tuple(rows))


def settings_table(groups: Sequence[TaskGroup]) -> Table:
    """Every setting of every method, those that differ first."""
    by_method: dict[str, list[dict[str, object]]] = {}
    for group in groups:
        for method in group.methods:
            by_method.setdefault(method.label, []).append(method.settings)
    keys = list(dict.fromkeys(key for many in by_method.values() for one in many for key in one))
    texts = {key: [_common_text(many, key) for many in by_method.values()] for key in keys}
    # A strategy a run does not use stands as a setting without a value.
    keys = [key for key in keys if set(texts[key]) != {DASH}]
    keys.sort(key=lambda key: len(set(texts[key])) == 1)
    rows = tuple((word(key), *(word(text) for text in texts[key])) for key in keys)
    headings = (("setting", "Setting"), *((label, label) for label in by_method))
    return Table(
        "settings",
        "Settings of each method",
        "Settings in which methods differ come first.",
        headings,
        rows,
    )


def _common_text(settings: Sequence[dict[str, object]], key: str) -> str:
    """A setting's value on all tasks."""
    texts = {_setting_text(one, key) for one in settings}
    return texts.pop() if len(texts) == 1 else "differs between tasks"


def _setting_text(settings: dict[str, object], key: str) -> str:
    value = settings.get(key)
    if value is None:
        return DASH
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return str(value)


def room_table(reaches: Sequence[Reach]) -> Table | None:
    """One row per method and moment; None if no agent was watched."""
    if not reaches:
        return None
    return Table(
        "rooms",
        "Rooms that trajectories reach",
        f"{RULE} Means over seeds, of cells with 95 % confidence intervals in brackets.",
        (
            ("method", "Method"),
            ("moment", "Training"),
            ("steps", "Steps"),
            ("seeds", "Seeds"),
            ("seeds_with_all_rooms", "Seeds that reach all four rooms"),
            ("rooms", "Rooms reached, of 4"),
            ("cells", "Distinct cells, of 2504"),
        ),
        tuple(_row(reach) for reach in reaches),
    )


def _row(reach: Reach) -> tuple[Cell, ...]:
    seeds = len(reach.rooms)
    return (
        word(reach.method),
        _moment_cell(reach.moment),
        count(max(reach.steps.values()), span(reach.steps.values(), steps_text)),
        count(seeds),
        count(reach.all_rooms, f"{reach.all_rooms} of {seeds}"),
        number(reach.mean_rooms, 2),
        estimate_cell(reach.mean_cells, 0),
    )


def _moment_cell(moment: Moment) -> Cell:
    name = moment_name(moment)
    return Cell(name, 1.0 if moment is None else moment, (("", name),))
