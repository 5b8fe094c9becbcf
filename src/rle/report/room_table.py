"""How far trajectories reach, as a table."""

from __future__ import annotations

from collections.abc import Sequence

from rle.report.pictures import Moment, moment_name
from rle.report.rooms import RULE, Reach
from rle.report.style import steps_text
from rle.report.tables import Cell, Table, count, estimate_cell, number, word
from rle.report.wording import span


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
