"""Tables of the paper's scores, alone and with ours beside them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from rle.report.measure.paper import (
    PAPER_LABELS,
    PAPER_STEPS,
    Column,
    Ours,
    OurScore,
    PaperAggregates,
    normalised_iqm,
    paper_aggregates,
    paper_score,
    paper_steps_text,
)
from rle.report.read.words import frames_text, number_text, span, steps_text
from rle.report.write.suite_tables import score_cell, score_digits
from rle.report.write.tables import Cell, Table, count, number, word
from rle.stats import PAPER_PROBABILITY_OF_IMPROVEMENT, atari_reference_scores, paper_atari_steps


def paper_aggregates_table(aggregates: dict[str, PaperAggregates]) -> Table:
    """One row per method of the paper."""
    published = PAPER_PROBABILITY_OF_IMPROVEMENT["atari"]
    rows = tuple(
        (
            word(PAPER_LABELS[method]),
            word(frames_text(PAPER_STEPS)),
            number(found.iqm, 3),
            number(found.capped, 3),
            number(found.mean, 3),
            number(found.median, 3),
            count(found.won),
            number(published.get(("rle", method)), 2),
            number(published.get((method, "ppo")), 2),
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
        ("published_over_ppo", "P(it > PPO), published"),
    )
    return Table(
        "aggregates",
        "The paper's methods over all 57 games",
        "Aggregates of the human-normalised score, recomputed from the per-game table. MontezumaRevenge "
        "was trained for longer (400 M steps). The table "
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


def beside_table(ours: Ours, shown: Sequence[Column]) -> Table:
    """One row per game: our scores and the paper's, each with its steps."""
    rows = []
    for game, scores in ours.items():
        best = max(one.estimate.interval.point for one in scores.values())
        paper = {column.name: paper_score(column.name, game) for column in shown if column.of_paper}
        steps = paper_atari_steps(game)
        longest = max(one.steps for one in scores.values())
        rows.append(
            (
                word(game),
                *(
                    _paper_cell(paper[column.name], steps, max(paper.values()))
                    if column.of_paper
                    else _our_cell(scores.get(column.name), best)
                    for column in shown
                ),
                number(100 * longest / steps, 1),
            )
        )
    headings = (
        ("game", "Game"),
        *((f"{column.whose}_{column.name}", column.heading) for column in shown),
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


def _paper_cell(value: float, steps: int, best: float) -> Cell:
    text = f"{number_text(value, score_digits(value))} @ {steps_text(steps)}"
    return Cell(text, value, (("", value), ("_steps", steps)), strong=value == best)


def beside_aggregates_table(ours: Ours, shown: Sequence[Column]) -> Table:
    """IQM of ours and of the paper's on games that every method of ours has.

    Another selection would be another average.
    """
    mine = [column.name for column in shown if not column.of_paper]
    games = tuple(game for game, scores in ours.items() if all(x in scores for x in mine))
    paper = paper_aggregates(games) if games else {}
    rows = []
    for column in shown:
        of_label = {g: s[column.name] for g, s in ours.items() if column.name in s}
        if column.of_paper:
            steps, iqm = (
                paper_steps_text(ours, frames_text),
                paper[column.name].iqm if games else None,
            )
        else:
            steps = span([one.steps for one in of_label.values()], frames_text)
            runs = {game: list(of_label[game].estimate.values.values()) for game in games}
            iqm = normalised_iqm(runs) if games else None
        rows.append((word(column.heading), count(len(games)), word(steps), number(iqm, 3)))
    return Table(
        "beside-aggregates",
        "Ours beside the paper, over the games both have",
        "IQM of the human-normalised score over all runs of these games; of the paper over its means "
        "of five seeds.",
        (("method", "Method"), ("games", "Games"), ("steps", "Steps"), ("iqm", "IQM")),
        tuple(rows),
    )
