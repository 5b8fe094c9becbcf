"""The paper's scores as bars, alone and with ours beside them."""

from __future__ import annotations

from collections.abc import Sequence

from rle.report.draw.figures import BarFigure, Bars
from rle.report.draw.style import LineStyle
from rle.report.measure.paper import (
    PAPER_LABELS,
    Column,
    Ours,
    normalised,
    paper_score,
    paper_steps_text,
)
from rle.report.read.words import span, steps_text
from rle.stats import atari_reference_scores

NORMALISED = "human-normalised score"
HUMAN_LINE = (1.0, "human")


def paper_bars(styles: dict[str, LineStyle]) -> BarFigure:
    """Human-normalised scores of the paper, game by game."""
    games = tuple(atari_reference_scores())

    def bars(method: str, label: str) -> Bars:
        scores = tuple(normalised(game, paper_score(method, game)) for game in games)
        return Bars(label, styles[label].colour, scores)

    return BarFigure(
        name="bars",
        title="The paper's scores, human-normalised",
        caption=(
            "(score − random) / (human − random) of the paper's four methods after 40 M agent steps "
            "(160 M frames; MontezumaRevenge 400 M steps). The scale is linear near 0 and logarithmic "
            "beyond; the dashed line is a human."
        ),
        x_label=NORMALISED,
        tasks=games,
        methods=tuple(bars(*method) for method in PAPER_LABELS.items()),
        reference=HUMAN_LINE,
    )


def beside_bars(ours: Ours, shown: Sequence[Column], styles: dict[str, LineStyle]) -> BarFigure:
    """Human-normalised scores of ours and of the paper, game by game."""

    def value(column: Column, game: str) -> float | None:
        if column.of_paper:
            return normalised(game, paper_score(column.name, game))
        one = ours[game].get(column.name)
        return None if one is None else normalised(game, one.estimate.interval.point)

    def bars(column: Column) -> Bars:
        steps = [s[column.name].steps for s in ours.values() if column.name in s]
        paper = paper_steps_text(ours, steps_text)
        label = f"{column.heading} @ {paper if column.of_paper else span(steps, steps_text)}"
        values = tuple(value(column, game) for game in ours)
        return Bars(label, styles[column.label].colour, values, faint=column.of_paper)

    return BarFigure(
        name="beside-bars",
        title="Ours beside the paper, human-normalised",
        caption=(
            "(score − random) / (human − random) on every game we played. Faint bars are the "
            "paper's. The legend says for how many agent steps each was trained."
        ),
        x_label=NORMALISED,
        tasks=tuple(ours),
        methods=tuple(bars(column) for column in shown),
        reference=HUMAN_LINE,
    )
