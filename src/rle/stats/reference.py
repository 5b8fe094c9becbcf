"""Scores to compare with: random and human players, and the RLE paper's own results.

The figures and their sources are in `data/`, which ships with the package.
"""

import csv
from collections.abc import Mapping
from functools import cache
from importlib import resources
from types import MappingProxyType
from typing import NamedTuple

from rle.errors import UsageError
from rle.stats.scores import Scores


class ReferenceScore(NamedTuple):
    """What a random and a human player score on a game."""

    random: float
    human: float


PAPER_PROBABILITY_OF_IMPROVEMENT: Mapping[str, Mapping[tuple[str, str], float]] = MappingProxyType(
    {
        "atari": MappingProxyType(
            {
                ("rle", "ppo"): 0.67,
                ("rle", "rnd"): 0.71,
                ("rle", "noisynet"): 0.72,
                ("rnd", "ppo"): 0.38,
                ("noisynet", "ppo"): 0.35,
            }
        ),
        "control": MappingProxyType(
            {
                ("rle", "ppo"): 0.66,
                ("rle", "rnd"): 0.65,
                ("rle", "ppo-reward-normalised"): 0.83,
            }
        ),
    }
)
"""Published probability that the first method improves over the second, per suite.

Atari is the 57 games; control is the nine Isaac Gym tasks.
"""


def _rows(name: str) -> list[dict[str, str]]:
    text = (resources.files("rle.stats") / "data" / name).read_text(encoding="utf-8")
    return list(csv.DictReader(text.splitlines()))


@cache
def atari_reference_scores() -> Mapping[str, ReferenceScore]:
    """Random and human score of the 57 Atari games, by game.

    Source: Mnih et al. 2015 and Badia et al. 2020, as the RLE paper cites them.
    """
    return MappingProxyType(
        {
            row["game"]: ReferenceScore(float(row["random"]), float(row["human"]))
            for row in _rows("atari_reference_scores.csv")
        }
    )


@cache
def paper_atari_scores() -> Mapping[str, Scores]:
    """The paper's score of `ppo`, `rnd`, `noisynet` and `rle` on the 57 Atari games, by method.

    One "run" per game: the paper prints means over five seeds, not the seeds, so there is no
    interval to be had from it. Source: the per-game table in the appendix of the RLE paper.
    """
    rows = _rows("paper_atari_scores.csv")
    methods = [column for column in rows[0] if column != "game"]
    return MappingProxyType(
        {
            method: Scores.from_runs(method, {row["game"]: [float(row[method])] for row in rows})
            for method in methods
        }
    )


def paper_atari_steps(game: str) -> int:
    """Agent steps (four frames each) the paper's score on `game` was trained for.

    Source: the caption of the per-game table: 40 M, and 400 M for MontezumaRevenge.
    """
    if game not in atari_reference_scores():
        raise UsageError(
            f"{game} is not one of the 57 Atari games; names look like 'SpaceInvaders'"
        )
    return 400_000_000 if game == "MontezumaRevenge" else 40_000_000
