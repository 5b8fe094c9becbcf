"""Tables: what the page shows, and the same as CSV."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Sequence
from dataclasses import dataclass

from rle.report.measures import (
    SOLVED,
    SUCCESS,
    Diversities,
    Estimate,
    Measure,
    TaskMeasures,
    measures_of,
    seeds_with_success,
    value_of,
)
from rle.report.methods import TaskGroup
from rle.report.style import DASH, number_text, steps_text
from rle.stats import Interval

Raw = float | int | str | None


@dataclass(frozen=True)
class Cell:
    """One entry of a table."""

    text: str
    sort: Raw = None
    """What a click on the column sorts by; the text if None."""
    columns: tuple[tuple[str, Raw], ...] = ()
    """The entry in CSV: endings of the column's name, and values."""
    strong: bool = False
    hint: str = ""
    """Said when the pointer rests on it."""


@dataclass(frozen=True)
class Table:
    """Rows of cells under headings."""

    name: str
    title: str
    caption: str
    headings: tuple[tuple[str, str], ...]
    """Key (for CSV) and text of each column."""
    rows: tuple[tuple[Cell, ...], ...]


def word(text: str) -> Cell:
    """A cell of words."""
    return Cell(text, text, (("", text),))


def count(value: int, text: str | None = None) -> Cell:
    """A cell with a whole number."""
    return Cell(number_text(value, 0) if text is None else text, value, (("", value),))


def number(value: float | None, digits: int) -> Cell:
    """A cell with one measured number, or none."""
    if value is not None and not math.isfinite(value):
        return Cell(str(value), None, (("", str(value)),))
    return Cell(number_text(value, digits), value, (("", value),))


def interval_text(interval: Interval, digits: int) -> str:
    """An estimate, and its limits in brackets where it has any."""
    text = number_text(interval.point, digits)
    if interval.low is None or interval.high is None:
        return text
    return f"{text} [{number_text(interval.low, digits)}, {number_text(interval.high, digits)}]"


def estimate_cell(interval: Interval | None, digits: int, signed: bool = False) -> Cell:
    """A mean with its interval; with `signed` a difference, strong where it excludes zero."""
    if interval is None:
        return Cell(DASH, None, (("", None), ("_low", None), ("_high", None)))
    text = interval_text(interval, digits)
    if signed and interval.point > 0:
        text = f"+{text}"
    strong = False
    if interval.low is not None and interval.high is not None:
        strong = signed and not interval.low <= 0 <= interval.high
    values = (("", interval.point), ("_low", interval.low), ("_high", interval.high))
    return Cell(text, interval.point, values, strong, interval.note)


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
            cells.append(_measure_cell(measure, estimate))
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


def _measure_cell(measure: Measure, estimate: Estimate | None) -> Cell:
    return estimate_cell(None if estimate is None else estimate.interval, measure.digits)


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


def to_csv(table: Table) -> str:
    """The table's numbers, unrounded."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    first = table.rows[0]
    writer.writerow(
        key + ending
        for (key, _), cell in zip(table.headings, first, strict=True)
        for ending, _ in cell.columns
    )
    for row in table.rows:
        writer.writerow(value for cell in row for _, value in cell.columns)
    return buffer.getvalue()
