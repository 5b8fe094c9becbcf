"""The paper in the page: its table rebuilt, and our runs beside it."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from rle.report.figures import Figure
from rle.report.measures import TaskMeasures
from rle.report.methods import TaskGroup
from rle.report.page import Section
from rle.report.paper import (
    PAPER_LABELS,
    PAPER_SEEDS,
    Ours,
    frames_text,
    our_scores,
    paper_aggregates,
    paper_score,
)
from rle.report.paper_tables import (
    beside_aggregates_table,
    beside_bars,
    beside_table,
    paper_aggregates_table,
    paper_bars,
    paper_scores_table,
    rivals,
)
from rle.report.style import LineStyle, number_text
from rle.report.summary import interval_summary
from rle.report.tables import Table
from rle.report.wording import span
from rle.stats import (
    Scores,
    atari_reference_scores,
    human_normalised,
    interquartile_mean,
    paper_atari_steps,
)

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
        labels = _labels(ours)
        explore = {m.label: m.explore for group in groups for m in group.methods}
        methods = rivals(labels, explore) or list(PAPER_LABELS)
        tables += [
            _beside_aggregates(ours, labels, methods),
            beside_table(ours, labels, methods),
        ]
        figures.append(beside_bars(ours, labels, methods, styles))
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
            f"each trained for {frames_text(40_000_000)}."
        ),
        headline=f"IQM and capped mean of the human-normalised score: {outcome}.",
        notes=tuple(_notes(groups, ours)),
        tables=tuple(tables),
        folded_tables=(),
        figures=tuple(figures),
    )
    return section, _summary(ours)


def _labels(ours: Ours) -> list[str]:
    return list(dict.fromkeys(label for scores in ours.values() for label in scores))


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
    for label in _labels(ours):
        pairs = [
            (scores[label].steps, paper_atari_steps(game))
            for game, scores in ours.items()
            if label in scores
        ]
        if any(mine < theirs for mine, theirs in pairs):
            notes.append(
                f"{label}: ours was trained for {span([a for a, _ in pairs], frames_text)}, the "
                f"paper's for {span([b for _, b in pairs], frames_text)}."
            )
    return notes


def _beside_aggregates(ours: Ours, labels: list[str], methods: list[str]) -> Table:
    """Only games that every method of ours has: another selection would be another average."""
    games = tuple(game for game, scores in ours.items() if all(x in scores for x in labels))
    rows: list[tuple[str, int, str, float | None]] = []
    for label in labels:
        value = None
        if games:
            runs = {g: list(ours[g][label].estimate.values.values()) for g in games}
            scores = human_normalised(Scores.from_runs(label, runs))
            value = float(interquartile_mean(scores.values))
        steps = span([s[label].steps for s in ours.values() if label in s], frames_text)
        rows.append((f"{label}, ours", len(games), steps, value))
    if games:
        paper = paper_aggregates(games)
        steps = span([paper_atari_steps(game) for game in games], frames_text)
        rows += [(f"{PAPER_LABELS[m]}, paper", len(games), steps, paper[m].iqm) for m in methods]
    return beside_aggregates_table(rows)


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
