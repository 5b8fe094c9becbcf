"""What can be told from how actions depend on z and from F: is z ignored, heard, or followed?"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import mean, stdev
from typing import NamedTuple

from rle.findings.finding import Finding, readable

LISTENS = 0.01
"""Nats between a policy's actions under two z from which on it listens. FourRoom's agents have 0.05 to
0.7; 0.01 is an action that has the probability 0.535 under one z and 0.465 under another."""
FOLLOWS = 0.05
"""Deviations of F above zero from which on an agent follows z. Seen on Ant: 0.20 and more where it did,
0.04 and less where it did not; agents that have found FourRoom's goal have 0.01 to 0.1."""


class Remedies(NamedTuple):
    """What to do, as the ends of sentences."""

    ignored: str
    not_followed: str


def judge_following(
    earned: Sequence[float],
    spread: Sequence[float],
    sensitivity: float | None,
    pays: bool,
    remedies: Remedies,
) -> list[Finding]:
    """Judge whether a policy ignores z, listens to it, or follows it.

    Args:
        earned: mean F of each iteration, or of other stretches of training.
        spread: its deviation in each.
        sensitivity: how far actions under two z differ, in nats; None: not known.
        pays: whether the task does, which may lead the agent elsewhere.
        remedies: what to do.

    """
    listens = (
        None
        if sensitivity is None
        else f"actions under two z differ by {readable(sensitivity)} nats"
    )
    if sensitivity is not None and sensitivity < LISTENS:
        sentence = f"the policy ignores z, {listens}, and so RLE cannot work: {remedies.ignored}."
        return [Finding("problem", "z", sentence, sensitivity)]
    deviation = mean(spread)
    followed = mean(earned) / deviation if deviation > 0 else 0.0
    by_chance = 2 * stdev(earned) / math.sqrt(len(earned)) / deviation if len(earned) > 1 else 0.0
    seen = [f"F is {followed:+.2f} deviations from zero"]
    seen = seen if listens is None else [listens, *seen]
    if followed >= max(FOLLOWS, by_chance):
        return [Finding("fine", "z", f"the policy follows z: {', and '.join(seen)}.", followed)]
    found = "unless the task's reward leads it by now, " if pays else ""
    heard = "does not follow z" if listens is None else "listens to z and does not follow it"
    sentence = f"the policy {heard}, {', and '.join(seen)}: {found}{remedies.not_followed}."
    return [Finding("notice", "z", sentence, followed)]
