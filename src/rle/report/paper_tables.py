"""Tables and bars of the paper's scores, alone and with ours beside them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from rle.report.figures import BarFigure, BarGroup, BarStyle
from rle.report.paper import (
    PAPER_LABELS,
    STRATEGIES,
    Ours,
    OurScore,
    PaperAggregates,
    frames_text,
    normalised,
    paper_score,
)
from rle.report.style import DASH, LineStyle, number_text, steps_text
from rle.report.suite_tables import score_cell, score_digits, steps_cell
from rle.report.tables import Cell, Table, count, number, word
from rle.report.wording import span
from rle.stats import (
    PAPER_PROBABILITY_OF_IMPROVEMENT,
    atari_reference_scores,
    paper_atari_steps,
)

NORMALISED = "human-normalised score"
HUMAN_LINE = (1.0, "human")


def paper_aggregates_table(aggregates: dict[str, PaperAggregates]) -> Table:
    """One row per method of the paper."""
    published = PAPER_PROBABILITY_OF_IMPROVEMENT["atari"]
    rows = tuple(
        (
            word(PAPER_LABELS[method]),
            steps_cell([paper_atari_steps(game) for game in atari_reference_scores()]),
            number(found.iqm, 3),
            number(found.capped, 3),
            number(found.mean, 3),
            number(found.median, 3),
            count(found.won),
            number(published.get(("rle", method)), 2),
        )
        for method, found in aggregates.items()
    )
    headings = (
        ("method", "Method"),
        ("steps", "Steps"),
        ("iqm", "IQM"),
        ("capped", "Capped mean"),
        ("mean", "Mean"),
        ("median", "Median"),
        ("games_won", "Games won"),
        ("published_improvement", "P(RLE > it), published"),
    )
    return Table(
        "aggregates",
        "The paper's methods over all 57 games",
        "Aggregates of the human-normalised score, recomputed from the per-game table. The table "
        "holds means over five seeds and not the seeds, so that there are no intervals, and the "
        "probability of improvement is the published one.",
        headings,
        rows,
    )


def paper_scores_table() -> Table:
    """The paper's per-game table, winners in bold."""
    rows = []
    for game, reference in atari_reference_scores().items():
        scores = {method: paper_score(method, game) for method in PAPER_LABELS}
        best = max(scores.values())
        steps = paper_atari_steps(game)
        rows.append(
            (
                word(game),
                count(steps, frames_text(steps)),
                *(replace(number(value, 2), strong=value == best) for value in scores.values()),
                number(reference.random, 1),
                number(reference.human, 1),
            )
        )
    headings = (
        ("game", "Game"),
        ("steps", "Steps of every score"),
        *PAPER_LABELS.items(),
        ("random", "Random player"),
        ("human", "Human"),
    )
    caption = (
        "Mean score over seeds at the end of training, from the appendix of the RLE paper (Mahankali "
        "et al. 2024); the best method of a game in bold. Steps are agent steps of four frames."
    )
    return Table("scores", "The paper's score on every game", caption, headings, tuple(rows))


def paper_bars(colours: dict[str, LineStyle]) -> BarFigure:
    """Human-normalised scores of the paper, game by game."""
    return BarFigure(
        name="bars",
        title="The paper's scores, human-normalised",
        caption=(
            "(score − random) / (human − random) of the paper's four methods after 40 M agent steps "
            "(160 M frames; MontezumaRevenge 400 M steps). The scale is linear near 0 and logarithmic "
            "beyond; the dashed line is a human."
        ),
        x_label=NORMALISED,
        methods=tuple(BarStyle(label, colours[label].colour) for label in PAPER_LABELS.values()),
        groups=tuple(
            BarGroup(
                game, tuple(normalised(game, paper_score(method, game)) for method in PAPER_LABELS)
            )
            for game in atari_reference_scores()
        ),
        digits=3,
        reference=HUMAN_LINE,
    )


def rivals(labels: Sequence[str], explore: dict[str, str]) -> list[str]:
    """Those of the paper's methods that any of ours is, in the paper's order."""
    ours = {STRATEGIES.get(explore[label]) for label in labels}
    return [method for method in PAPER_LABELS if method in ours]


def beside_table(ours: Ours, labels: Sequence[str], methods: Sequence[str]) -> Table:
    """One row per game: our scores and the paper's, each with its steps."""
    rows = []
    for game, scores in ours.items():
        best = max(one.estimate.interval.point for one in scores.values())
        paper = {method: paper_score(method, game) for method in methods}
        steps = paper_atari_steps(game)
        longest = max(one.steps for one in scores.values())
        rows.append(
            (
                word(game),
                *(_our_cell(scores.get(label), best) for label in labels),
                *(_paper_cell(value, steps, paper) for value in paper.values()),
                number(100 * longest / steps, 1),
            )
        )
    headings = (
        ("game", "Game"),
        *((f"ours_{label}", f"{label}, ours") for label in labels),
        *((f"paper_{method}", f"{PAPER_LABELS[method]}, paper") for method in methods),
        ("percent_of_steps", "Our steps, % of the paper's"),
    )
    return Table(
        "beside",
        "Ours beside the paper, game by game",
        "Mean over seeds of the mean return of the last 128 training episodes, with its 95 % "
        "confidence interval where ours has several seeds. After @: agent steps of training behind "
        "the number. The best of ours and the best of the paper's in bold. Scores after different "
        "numbers of steps say nothing about the methods.",
        headings,
        tuple(rows),
    )


def _our_cell(one: OurScore | None, best: float) -> Cell:
    cell = score_cell(None if one is None else one.estimate, best)
    steps = None if one is None else one.steps
    said = cell.text if steps is None else f"{cell.text} @ {steps_text(steps)}"
    return replace(cell, text=said, columns=(*cell.columns, ("_steps", steps)))


def _paper_cell(value: float, steps: int, all_scores: dict[str, float]) -> Cell:
    text = f"{number_text(value, score_digits(value))} @ {steps_text(steps)}"
    strong = value == max(all_scores.values())
    return Cell(text, value, (("", value), ("_steps", steps)), strong)


def beside_bars(
    ours: Ours, labels: Sequence[str], methods: Sequence[str], styles: dict[str, LineStyle]
) -> BarFigure:
    """Human-normalised scores of ours and of the paper, game by game."""
    groups = []
    for game, scores in ours.items():
        mine = [
            normalised(game, scores[label].estimate.interval.point) if label in scores else None
            for label in labels
        ]
        theirs = [normalised(game, paper_score(method, game)) for method in methods]
        groups.append(BarGroup(game, (*mine, *theirs)))
    steps = {label: [s[label].steps for s in ours.values() if label in s] for label in labels}
    paper = span([paper_atari_steps(game) for game in ours], steps_text)
    return BarFigure(
        name="beside-bars",
        title="Ours beside the paper, human-normalised",
        caption=(
            "(score − random) / (human − random) on every game we played. Faint bars are the "
            "paper's. The legend says for how many agent steps each was trained."
        ),
        x_label=NORMALISED,
        methods=(
            *(
                BarStyle(f"{label}, ours @ {span(steps[label], steps_text)}", styles[label].colour)
                for label in labels
            ),
            *(
                BarStyle(
                    f"{PAPER_LABELS[method]}, paper @ {paper}",
                    styles[PAPER_LABELS[method]].colour,
                    faint=True,
                )
                for method in methods
            ),
        ),
        groups=tuple(groups),
        digits=3,
        reference=HUMAN_LINE,
    )


def beside_aggregates_table(
    rows: Sequence[tuple[str, int, str, float | None]],
) -> Table:
    """IQM of ours and of the paper's on the games both have."""
    return Table(
        "beside-aggregates",
        "Ours beside the paper, over the games both have",
        "IQM of the human-normalised score over all runs of these games; of the paper over its means "
        "of five seeds.",
        (
            ("method", "Method"),
            ("games", "Games"),
            ("steps", "Steps"),
            ("iqm", "IQM"),
        ),
        tuple(
            (
                word(label),
                count(games),
                word(steps),
                number(value, 3) if value is not None else _NONE,
            )
            for label, games, steps, value in rows
        ),
    )


_NONE = Cell(DASH, None, (("", None),))
