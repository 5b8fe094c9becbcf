"""Does the task's return rise, or does it fall while F rises?"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import mean, stdev
from typing import Any

from rle.findings.finding import Finding, readable

PARTS = 5
"""A run is compared in fifths."""
ENOUGH_EPISODES = 10
"""In each fifth that is compared."""
BEYOND_CHANCE = 3.0
"""Standard errors by which the return must have fallen."""
WORTH_SAYING = 0.25
"""Deviations of a score by which it must have fallen: what less is lost need not be mended."""
MORE_FOLLOWED = 0.02
"""Deviations by which F must have risen meanwhile: less than half of what is called following."""

Lines = Sequence[dict[str, Any]]


def judge_returns(episodes: Lines, lines: Lines) -> list[Finding]:
    """Judge the scores of a run's episodes, beside the bonuses of its iterations."""
    if not episodes:
        sentence = "no episode has ended, and there is no score: give a --time-limit."
        return [Finding("notice", "score", sentence, 0.0)]
    scores = [episode["score"] for episode in episodes]
    if not any(scores):
        sentence = f"the task paid nothing in {len(scores):,} episodes."
        return [Finding("notice", "score", sentence, 0.0)]
    end = lines[-1]["step"]
    fifths = [
        [e["score"] for e in episodes if PARTS * (e["step"] - 1) // end == part]
        for part in range(PARTS)
    ]
    compared = [part for part in range(PARTS) if len(fifths[part]) >= ENOUGH_EPISODES]
    if len(compared) < 2 or compared[-1] != PARTS - 1:
        sentence = (
            f"{len(scores):,} episodes are too few to compare the run's beginning and its end."
        )
        return [Finding("fine", "score", sentence, float(len(scores)))]
    best = max(compared[:-1], key=lambda part: mean(fifths[part]))
    return [_judge_fall(fifths[best], fifths[-1], _rise(lines, best))]


def _judge_fall(best: Sequence[float], last: Sequence[float], rise: float) -> Finding:
    fall = mean(best) - mean(last)
    error = math.sqrt(stdev(best) ** 2 / len(best) + stdev(last) ** 2 / len(last))
    deviation = math.sqrt((stdev(best) ** 2 + stdev(last) ** 2) / 2)
    seen = f"{readable(mean(last))} in the last fifth of the run"
    if fall <= max(BEYOND_CHANCE * error, WORTH_SAYING * deviation):
        earlier = f"the best before it was {readable(mean(best))}"
        return Finding("fine", "score", f"the mean score is {seen}; {earlier}.", mean(last))
    fell = f"the mean score fell from {readable(mean(best))} to {seen}"
    if rise > MORE_FOLLOWED:
        sentence = (
            f"{fell} while F rose by {rise:.2f} deviations, so the agent goes where F pays and not "
            "where the task does: lower --rle.coefficient."
        )
        return Finding("problem", "score", sentence, -fall)
    sentence = (
        f"{fell}: lower --learning-rate, or take an earlier checkpoint (`rle eval RUN --step N`)."
    )
    return Finding("notice", "score", sentence, -fall)


def _rise(lines: Lines, part: int) -> float:
    """By how many deviations F rose from a fifth of the run to the last; 0 if there is none."""
    followed = []
    for number in (part, PARTS - 1):
        of_part = [
            line
            for line in lines
            if "bonus_rle_std" in line and PARTS * (line["step"] - 1) // lines[-1]["step"] == number
        ]
        if of_part and all("rle_following" in line for line in of_part):
            # F pays for rare states besides, under every z.
            followed.append(mean(line["rle_following"] for line in of_part))
            continue
        deviation = mean(line["bonus_rle_std"] for line in of_part) if of_part else 0.0
        if deviation <= 0:
            return 0.0
        followed.append(mean(line["bonus_rle_mean"] for line in of_part) / deviation)
    return followed[1] - followed[0]
