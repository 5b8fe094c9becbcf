"""The paper in the page: its table rebuilt, and our runs beside it."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from rle.report.draw.figures import Figure
from rle.report.draw.paper import beside_bars, paper_bars
from rle.report.draw.style import LineStyle
from rle.report.measure.measures import TaskMeasures
from rle.report.measure.paper import (
    PAPER_LABELS,
    PAPER_SEEDS,
    PAPER_STEPS,
    Ours,
    columns,
    our_scores,
    paper_aggregates,
    paper_score,
    paper_steps_text,
)
from rle.report.read.methods import TaskGroup
from rle.report.read.words import frames_text, number_text, span
from rle.report.write.page import Section
from rle.report.write.paper_tables import (
    beside_aggregates_table,
    beside_table,
    paper_aggregates_table,
    paper_scores_table,
)
from rle.report.write.summary import interval_summary
from rle.stats import atari_reference_scores, paper_atari_steps

SOURCE = "Mahankali et al. 2024, Random Latent Exploration for Deep Reinforcement Learning, ICML"


def paper_section(
    groups: list[TaskGroup], measured: dict[str, TaskMeasures], styles: dict[str, LineStyle]
) -> tuple[Section, dict[str, Any]]:
    """The section, and the same for programs."""
    aggregates = paper_aggregates()
    ours = our_scores(groups, measured)
    tables = [paper_aggregates_table(aggregates)]
    figures: list[Figure] = []
    if ours:
        shown = columns(ours, {m.label: m.explore for group in groups for m in group.methods})
        tables += [beside_aggregates_table(ours, shown), beside_table(ours, shown)]
        figures.append(beside_bars(ours, shown, styles))
    tables.append(paper_scores_table())
    figures.append(paper_bars(styles))
    outcome = "; ".join(
        f"{PAPER_LABELS[method]} {number_text(found.iqm, 3)} and {number_text(found.capped, 3)}"
        for method, found in aggregates.items()
    )
    section = Section(
        identity="paper",
        task="",
        title="The paper's Atari results",
        description=(
            f"{SOURCE}, rebuilt from its per-game table: means over {PAPER_SEEDS} seeds on 57 games, "
            f"each trained for {frames_text(PAPER_STEPS)}."
        ),
        headline=f"IQM and capped mean of the human-normalised score: {outcome}.",
        notes=tuple(_notes(groups, ours)),
        tables=tuple(tables),
        folded_tables=(),
        figures=tuple(figures),
    )
    return section, _summary(ours)


def _notes(groups: list[TaskGroup], ours: Ours) -> list[str]:
    notes = [
        "MontezumaRevenge was trained for longer than the other games: 400 M steps by the caption of "
        "the paper's table, 200 M by its text."
    ]
    if groups and not ours:
        notes.append(
            "None of the runs given is on one of the 57 games (tasks named atari/<Game>), so nothing "
            "of ours stands beside the paper."
        )
    steps = [one.steps for scores in ours.values() for one in scores.values()]
    if any(one.steps < paper_atari_steps(g) for g, s in ours.items() for one in s.values()):
        notes.append(
            f"Ours were trained for {span(steps, frames_text)}, the paper's for "
            f"{paper_steps_text(ours, frames_text)}: a difference of scores is not one of methods."
        )
    return notes


def _summary(ours: Ours) -> dict[str, Any]:
    return {
        "source": SOURCE,
        "methods": {
            method: asdict(found) | {"seeds": PAPER_SEEDS}
            for method, found in paper_aggregates().items()
        },
        "games": {
            game: {"steps": paper_atari_steps(game)}
            | {method: paper_score(method, game) for method in PAPER_LABELS}
            for game in atari_reference_scores()
        },
        "ours": {
            game: {
                label: {"steps": one.steps, "score": interval_summary(one.estimate.interval)}
                for label, one in scores.items()
            }
            for game, scores in ours.items()
        },
    }
