"""Do episodes begin and end as they should, and how long do they last beside a z?"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import mean

from torch import Tensor

from rle.checkup.play import REPEATED_STEPS, Ends
from rle.config import RLEConfig
from rle.findings.finding import Finding, readable

ENOUGH_ENDS = 5
"""Fewer episodes say nothing about how episodes end."""
LOOK_LIKE_STARTS, STARTS_BY_CHANCE = 0.9, 0.5
"""Last observations are taken for first ones if this share of them lies where episodes begin, and less
than the other share of those one step before does: an agent may also end where it began."""
MANY_LATENTS = 100
"""So many z in one episode leave each too few steps to get anywhere. The paper's control has 62."""
SHORT_SIGHT = 20
"""Steps under one z, in horizons of the bonus's discount, from which on most of them do not count. Atari
has 13."""


def judge_repetition(repeats: bool) -> Finding:
    """Whether a seed determines what happens."""
    if repeats:
        sentence = f"the same seed leads to the same first {REPEATED_STEPS} steps."
        return Finding("fine", "seed", sentence, 0.0)
    sentence = (
        f"the same seed and actions lead to other observations or rewards within {REPEATED_STEPS} "
        "steps, so runs can be neither repeated nor resumed exactly: take all randomness from the seed "
        "that reset is given."
    )
    return Finding("notice", "seed", sentence, 1.0)


def judge_ends(ends: Ends | None, starts: Tensor) -> list[Finding]:
    """Whether an episode's last observation is its own: not one of `starts` `[S, size]`."""
    if ends is None or len(ends.last) < ENOUGH_ENDS:
        return []
    low, high = starts.double().amin(0), starts.double().amax(0)
    # What has been seen of how episodes begin, with some room for what has not.
    margin = (high - low) / 2 + 1e-6 * starts.double().abs().amax(0)

    def share(observations: Tensor) -> float:
        values = observations.double()
        inside = (values >= low - margin) & (values <= high + margin)
        return float(inside.all(-1).double().mean())

    at_the_end, before = share(ends.last), share(ends.before)
    if at_the_end >= LOOK_LIKE_STARTS and before < STARTS_BY_CHANCE:
        sentence = (
            f"{at_the_end:.0%} of the last observations look like first ones, and {before:.0%} of those "
            "a step before: the true last one must be returned where the mode is NEXT_STEP, and be "
            "in info under final_obs where it is SAME_STEP, since F pays for it."
        )
        return [Finding("problem", "auto-reset", sentence, at_the_end)]
    sentence = f"{len(ends.last)} episodes ended with an observation of their own."
    return [Finding("fine", "auto-reset", sentence, at_the_end)]


def judge_length(lengths: Sequence[int], rows: int, num_envs: int) -> Finding:
    """Whether episodes end."""
    if not lengths:
        sentence = (
            f"no episode ended in {rows:,} steps of each of {num_envs} environments, so there is "
            "neither a score nor a new start: give a --time-limit, or more --steps to this check."
        )
        return Finding("notice", "episodes", sentence, float(rows))
    sentence = (
        f"{len(lengths)} episodes of random actions ended, after {readable(mean(lengths))} steps on "
        "average."
    )
    return Finding("fine", "episodes", sentence, mean(lengths))


def judge_period(rle: RLEConfig, lengths: Sequence[int]) -> list[Finding]:
    """How long a z lasts, beside an episode and beside the horizon of the bonus."""
    findings = []
    period, horizon = rle.resample_every, 1 / max(1 - rle.discount, 1e-9)
    if lengths:
        changes = mean(lengths) / period
        if changes > MANY_LATENTS:
            sentence = (
                f"an episode of {readable(mean(lengths))} steps has {changes:.0f} z, each too short to "
                "get anywhere: raise --rle.resample-every."
            )
            findings.append(Finding("notice", "z", sentence, changes))
        else:
            many = f"{changes:.1f} z in an episode" if changes > 1 else "one z per episode"
            sentence = f"{period} steps under one z make {many} of random actions."
            findings.append(Finding("fine", "z", sentence, changes))
    if period > SHORT_SIGHT * horizon:
        sentence = (
            f"a z lasts {period} steps and the bonus looks {readable(horizon)} steps ahead, so near "
            "places beat better ones further off: raise --rle.discount."
        )
        findings.append(Finding("notice", "horizon", sentence, period / horizon))
    return findings
