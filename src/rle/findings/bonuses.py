"""What can be told from bonuses: does F vary over states, is it in proportion to the task's reward?"""

from __future__ import annotations

import torch
from torch import Tensor

from rle.core.returns import discounted_sums
from rle.findings.finding import Finding, readable

HARDLY_VARIES, VARIES_LITTLE = 0.02, 0.1
"""Spread of F over states, in units of its spread over z: problem, notice. At 0 an agent is paid for
the z it got and not for what it does. FourRoom's F, which is not centred, has 0.27 where random
actions get, and works."""
DROWNS, FAINT = 0.001, 0.005
"""Size of coefficient x bonus in units of the task's: problem, notice. The smallest coefficient in use,
0.01 beside a scaled reward, makes 1 to 3 % of the advantages on Ant and Humanoid; a tenth of that is
nothing."""
LOUD, DEAFENS = 1.0, 10.0
"""The same: notice, problem. The largest coefficient in use beside a task that pays is 0.1; with F ten
times as large as the goal's reward, agents visit everything on FourRoom and do not stay at the goal."""


def judge_bonus(bonus: Tensor) -> list[Finding]:
    """Judge F(s, z) `[M, B]` of M latents in B states."""
    if not bool(bonus.isfinite().all()):
        share = 1 - float(bonus.isfinite().double().mean())
        sentence = (
            f"{share:.1%} of the bonuses are NaN or infinite: mend φ, or the distribution of z."
        )
        return [Finding("problem", "bonus", sentence, share)]
    over_states, over_latents = float(bonus.std(1).mean()), float(bonus.std(0).mean())
    ratio = over_states / over_latents if over_latents > 0 else 0.0
    spreads = f"{readable(over_states)} over states and {readable(over_latents)} over z"
    if ratio >= VARIES_LITTLE:
        return [Finding("fine", "bonus", f"F deviates by {spreads}.", ratio)]
    sentence = (
        f"F deviates by only {spreads}, so the agent is paid for its z and not for where it goes: "
        "standardise features (rle.standardise), normalise observations, or bring a φ of your own."
    )
    return [Finding("problem" if ratio < HARDLY_VARIES else "notice", "bonus", sentence, ratio)]


def return_deviation(
    rewards: Tensor, stop: Tensor, discount: float, real: Tensor | None = None
) -> float:
    """The deviation of the discounted sum of rewards `[T, N]` that begins anew after each `stop`.

    It is what `RewardScaler` divides by.
    """
    carry = rewards.new_zeros(rewards.shape[1], 1)
    sums = discounted_sums(
        rewards[..., None], stop[..., None], torch.tensor([discount]).to(rewards), carry, real
    )[..., 0]
    return float((sums if real is None else sums[real]).double().std(correction=0))


def judge_proportion(task: float, bonus: float, remedy: str) -> Finding:
    """Judge the sizes of both streams, their coefficients included.

    Args:
        task: deviation of the task's return, as it is learned from.
        bonus: that of the bonus's.
        remedy: what to do where they are out of proportion, as the end of a sentence.

    """
    ratio = bonus / task
    sizes = (
        f"the bonus's return, coefficient included, deviates by {readable(bonus)} and the task's by "
        f"{readable(task)}"
    )
    if FAINT <= ratio <= LOUD:
        return Finding("fine", "proportion", f"{sizes}.", ratio)
    level = "problem" if not DROWNS <= ratio <= DEAFENS else "notice"
    outcome = "the bonus is not felt" if ratio < 1 else "the task is not felt"
    return Finding(level, "proportion", f"{sizes}, and so {outcome}: {remedy}.", ratio)  # type: ignore[arg-type]
