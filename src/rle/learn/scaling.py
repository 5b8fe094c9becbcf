"""Reward scaling: each stream in units of the deviation of its own discounted sum."""

from __future__ import annotations

import torch
from torch import Tensor

from rle.learn.returns import discounted_sums
from rle.moments import RunningMoments
from rle.tasks.base import State

EPSILON = 1e-8


class RewardScaler:
    """Divides rewards by the running deviation of their forward-filtered sum; never centres them.

    The filter runs along time, per environment, and restarts where its stream is stopped. The batch
    itself counts before it is scaled, so that the first rewards of a run are not divided by nothing.
    """

    def __init__(self, num_envs: int, discounts: Tensor) -> None:
        self._discounts = discounts
        self._carry = torch.zeros(num_envs, len(discounts), device=discounts.device)
        self._moments = [RunningMoments((), discounts.device) for _ in discounts]

    def __call__(self, rewards: Tensor, stop: Tensor, real: Tensor | None = None) -> Tensor:
        """Scale `[T, N, K]` rewards whose streams stop where `stop` `[T, N, K]` says."""
        sums = discounted_sums(rewards, stop, self._discounts, self._carry, real)
        self._carry = torch.where(stop[-1], 0.0, sums[-1])
        for stream, moments in enumerate(self._moments):
            moments.update(sums[..., stream], real)
        return rewards / self.deviations()

    def deviations(self) -> Tensor:
        """What rewards are divided by now, `[K]`."""
        deviation = torch.stack([moments.deviation for moments in self._moments])
        return (deviation.square() + EPSILON).sqrt().to(self._discounts.dtype)

    def state_dict(self) -> State:
        return {
            "carry": self._carry,
            "moments": [moments.state_dict() for moments in self._moments],
        }

    def load_state_dict(self, state: State) -> None:
        self._carry = state["carry"].to(self._carry.device)
        for moments, saved in zip(self._moments, state["moments"], strict=True):
            moments.load_state_dict(saved)
