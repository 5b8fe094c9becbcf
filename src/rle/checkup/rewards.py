"""Does the task pay, in finite numbers, in proportion to the bonus?"""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from rle.checkup.play import Played
from rle.config import PPOConfig, RunConfig
from rle.explore.base import Stream
from rle.findings.bonuses import judge_proportion, return_deviation
from rle.findings.finding import Finding, readable

RARE = 0.01
"""Share of steps that pay below which a reward is rare: the deviation of its return then says how rare
it is, and not how large."""


def judge_rewards(config: RunConfig, played: Played, streams: Sequence[Stream]) -> list[Finding]:
    """Judge the task's rewards, and each of the bonus `streams` beside them."""
    paid = played.reward[played.real]
    finite = paid.isfinite()
    if not finite.all():
        share = 1 - float(finite.double().mean())
        sentence = (
            f"{share:.1%} of the rewards are NaN or infinite: mend the environment, since training ends "
            "at the first of them."
        )
        return [Finding("problem", "reward", sentence, share)]
    share = float((paid != 0).double().mean())
    if share == 0:
        sentence = (
            f"the task paid nothing in {len(paid):,} random steps: RLE is for rewards that are so rare, "
            "if there are any."
        )
        return [Finding("fine", "reward", sentence, 0.0)]
    size = float(paid[paid != 0].abs().mean())
    sentence = f"the task paid in {share:.1%} of the steps, {readable(size)} in size on average."
    findings = [Finding("fine", "reward", sentence, share)]
    task = _task_size(config.learner, played, share < RARE)
    for column, stream in enumerate(streams):
        bonus = _bonus_size(stream, played, column)
        if task and bonus:
            findings.append(judge_proportion(task, bonus, _remedy(config.learner, stream.name)))
    return findings


def _task_size(learner: PPOConfig, played: Played, rare: bool) -> float | None:
    """Deviation of the task's return as it is learned from; None if it says nothing."""
    reward = learner.reward_scale * played.reward
    if rare:
        # A scale that is made of a few payments will be another one when they are found.
        paid = _clipped(reward[played.real & (reward != 0)], learner)
        return None if learner.scale_reward else learner.task_coefficient * float(paid.abs().mean())
    if learner.scale_reward:
        deviation = return_deviation(reward, played.ended, learner.discount, played.real)
        if deviation == 0:
            return None
        if learner.enlarge_reward or deviation > 1:
            reward = reward / deviation
    reward = _clipped(reward, learner)
    deviation = return_deviation(reward, played.ended, learner.discount, played.real)
    return learner.task_coefficient * deviation


def _clipped(reward: Tensor, learner: PPOConfig) -> Tensor:
    limit = learner.reward_clip
    return reward if limit is None else reward.clamp(-limit, limit)


def _bonus_size(stream: Stream, played: Played, column: int) -> float:
    """The same of a bonus stream, its coefficient included; 0 if it does not vary or is not finite."""
    bonus, cut = played.bonus[..., column], played.cut[..., column]
    real = played.real[-len(bonus) :]
    if not bool(bonus[real].isfinite().all()):
        return 0.0
    deviation = return_deviation(bonus, cut, stream.discount, real)
    # A stream that is scaled is divided by this very deviation.
    return stream.coefficient * (1.0 if stream.scale and deviation > 0 else deviation)


def _remedy(learner: PPOConfig, stream: str) -> str:
    if not learner.scale_reward:
        return f"train with --scale-reward True, or change --{stream}.coefficient"
    if not learner.enlarge_reward:
        return f"change --{stream}.coefficient, or train with --enlarge-reward True if rewards are small"
    return f"change --{stream}.coefficient"
