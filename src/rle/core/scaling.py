"""Reward scaling: each stream in units of the deviation of its own discounted sum."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from rle.core.returns import discounted_sums
from rle.core.running_mean_std import Pool, RunningMeanStd

EPSILON = 1e-8
SAME = 1e-6
"""Deviations below this share of the mean are what single precision leaves of numbers that are equal."""


class RewardScaler:
    """Divides rewards by the running deviation of their forward-filtered sum; never centres them.

    The filter runs along time, per environment, and restarts where its stream is stopped. What is
    handed over counts before it is scaled, so that the first rewards of a run are not divided by
    nothing. Rollouts `[T, N, K]` and single steps `[N, K]` may be handed over in turn: filter and
    moments come out the same. What a reward is divided by does not: a step is divided by the deviation
    up to that step, a rollout all by the one at its end.
    """

    def __init__(self, num_envs: int, discounts: Tensor) -> None:
        self._discounts = discounts
        self._carry = torch.zeros(num_envs, len(discounts), device=discounts.device)
        self._moments = [RunningMeanStd((), discounts.device) for _ in discounts]

    def __call__(
        self, rewards: Tensor, stop: Tensor, real: Tensor | None = None, pool: Pool | None = None
    ) -> Tensor:
        """Scale `[T, N, K]` rewards whose streams stop where `stop` `[T, N, K]` says.

        With `pool`, by the deviation of what it makes of their sums: say, of all ranks' sums.
        """
        sums = discounted_sums(rewards, stop, self._discounts, self._carry, real)
        self._carry = torch.where(stop[-1], 0.0, sums[-1])
        for stream, moments in enumerate(self._moments):
            seen = RunningMeanStd((), sums.device)
            seen.update(sums[..., stream], real)
            moments.merge(seen if pool is None else pool(seen))
        return rewards / self.std()

    def step(self, rewards: Tensor, stop: Tensor, real: Tensor | None = None) -> Tensor:
        """Scale one step's `[N, K]` rewards; `real` is bool `[N]`."""
        return self(rewards[None], stop[None], None if real is None else real[None])[0]

    def std(self) -> Tensor:
        """What rewards are divided by now, `[K]`."""
        std = torch.stack([moments.std for moments in self._moments])
        mean = torch.stack([moments.mean for moments in self._moments])
        # One sum, or sums that are all the same, say nothing of a scale: rewards stay as they are.
        known = std > SAME * mean.abs()
        return torch.where(known, (std.square() + EPSILON).sqrt(), 1.0).to(self._discounts.dtype)

    def state_dict(self) -> dict[str, Any]:
        """All that is needed to go on exactly from here."""
        return {
            "carry": self._carry,
            "moments": [moments.state_dict() for moments in self._moments],
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on from a state of `state_dict`."""
        self._carry = state["carry"].to(self._carry.device)
        for moments, saved in zip(self._moments, state["moments"], strict=True):
            moments.load_state_dict(saved)
