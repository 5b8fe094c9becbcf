"""The paper's per-game table, and our runs beside it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from rle.report.measure.measures import SCORE, Estimate, TaskMeasures
from rle.report.read.methods import TaskGroup
from rle.report.read.words import ATARI, lengths_text, short_name, suite_of
from rle.stats import (
    Scores,
    atari_reference_scores,
    capped_human_normalised,
    human_normalised,
    interquartile_mean,
    mean,
    median,
    paper_atari_scores,
    paper_atari_steps,
)

PAPER_LABELS = {"rle": "RLE", "ppo": "PPO", "rnd": "RND", "noisynet": "NoisyNet"}
"""The paper's methods, in the order of every figure."""
STRATEGIES = {"rle": "rle", "none": "ppo", "rnd": "rnd", "noisy": "noisynet"}
"""Which of the paper's methods a strategy of ours is."""
PAPER_SEEDS = 5
PAPER_STEPS = 40_000_000
"""Agent steps of training on all games but MontezumaRevenge."""


@dataclass(frozen=True)
class PaperAggregates:
    """What follows from the per-game table for one method."""

    iqm: float
    capped: float
    mean: float
    median: float
    won: int
    """Games on which no other method scores higher."""


@dataclass(frozen=True, eq=False)
class OurScore:
    """Our score of one method on one game."""

    estimate: Estimate
    steps: int


Ours = dict[str, dict[str, OurScore]]
"""By game and method."""


@dataclass(frozen=True)
class Column:
    """A method of ours, or one of the paper's, in a comparison of both."""

    name: str
    """Label of ours, key of the paper's."""
    label: str
    of_paper: bool = False

    @property
    def whose(self) -> str:
        """Whose numbers it holds."""
        return "paper" if self.of_paper else "ours"

    @property
    def heading(self) -> str:
        """What it is called."""
        return f"{self.label}, {self.whose}"


def columns(ours: Ours, explore: dict[str, str]) -> list[Column]:
    """Every method of ours, followed by the same method of the paper; the rest of ours last.

    Args:
        ours: our scores.
        explore: the strategy of each of our methods, by label.

    """
    labels = list(dict.fromkeys(label for scores in ours.values() for label in scores))
    found: list[Column] = []
    for method, name in PAPER_LABELS.items():
        same = [label for label in labels if STRATEGIES.get(explore[label]) == method]
        found += [Column(label, label) for label in same]
        found += [Column(method, name, of_paper=True)] if same else []
    named = {column.name for column in found}
    return found + [Column(label, label) for label in labels if label not in named]


def paper_aggregates(games: tuple[str, ...] | None = None) -> dict[str, PaperAggregates]:
    """IQM, capped mean and more of the paper's four methods, on all 57 games or some of them."""
    scores = {
        method: all_scores if games is None else all_scores.select(games)
        for method, all_scores in paper_atari_scores().items()
    }
    best = np.max([of.values for of in scores.values()], axis=0)
    found = {}
    for method in PAPER_LABELS:
        normalised = human_normalised(scores[method]).values
        found[method] = PaperAggregates(
            iqm=float(interquartile_mean(normalised)),
            capped=float(mean(capped_human_normalised(scores[method]).values)),
            mean=float(mean(normalised)),
            median=float(median(normalised)),
            won=int((scores[method].values == best).sum()),
        )
    return found


def paper_score(method: str, game: str) -> float:
    """The paper's mean score of a method on a game."""
    scores = paper_atari_scores()[method]
    return float(scores.values[0, scores.tasks.index(game)])


def our_scores(groups: list[TaskGroup], measured: dict[str, TaskMeasures]) -> Ours:
    """Our scores on those of the 57 games that were played, by game and method."""
    found: Ours = {}
    for group in groups:
        game = short_name(group.task)
        if suite_of(group.task) != ATARI or game not in atari_reference_scores():
            continue
        estimates = measured[group.task].estimates
        scores = {
            method.label: OurScore(estimates[method.label][SCORE.key], method.steps)
            for method in group.methods
            if SCORE.key in estimates[method.label]
        }
        if scores:
            found[game] = scores
    return found


def normalised(game: str, score: float) -> float:
    """A score on a game, human-normalised."""
    return float(human_normalised(Scores.from_runs("", {game: [score]})).values[0, 0])


def normalised_iqm(runs: dict[str, list[float]]) -> float:
    """The IQM of the human-normalised scores of one method, by game."""
    return float(interquartile_mean(human_normalised(Scores.from_runs("", runs)).values))


def paper_steps_text(games: Iterable[str], text: Callable[[int], str]) -> str:
    """How long the paper trained on some games; the odd one out is named."""
    return lengths_text({game: paper_atari_steps(game) for game in games}, text)
