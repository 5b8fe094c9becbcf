"""The doctor for a model of Stable-Baselines3 in training."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.policies import ActorCriticPolicy
from torch.distributions import kl_divergence

from rle.findings.finding import Finding
from rle.plugins.sb3.vec_env import exploration_of


def check(model: BaseAlgorithm) -> list[Finding]:
    """What keeps RLE from working for `model`, judged by its last steps of training; the worst first.

    The policy of an actor-critic is asked how far its actions under two z differ; of other agents, F
    alone says whether they follow z.
    """
    return exploration_of(model.get_env()).check(_sensitivity(model))


@torch.no_grad()
def _sensitivity(model: Any) -> float | None:
    """Mean KL in nats between a policy's actions under its own z and under its neighbour's."""
    seen = getattr(model, "_last_obs", None)
    if seen is None or not isinstance(model.policy, ActorCriticPolicy) or model.n_envs < 2:
        return None
    observations = exploration_of(model.get_env()).observations
    observation, z = observations.split(seen)
    swapped = observations.join(observation, np.roll(z, 1, 0))
    both = [model.policy.obs_to_tensor(each)[0] for each in (seen, swapped)]
    own, other = (_distributions(model.policy.get_distribution(each)) for each in both)
    differs = [
        kl_divergence(a, b).reshape(len(z), -1).sum(-1) for a, b in zip(own, other, strict=True)
    ]
    return float(sum(differs).mean())  # type: ignore[union-attr]


def _distributions(distribution: Any) -> list[Any]:
    """PyTorch's: several choices at a time have one each."""
    found = distribution.distribution
    return found if isinstance(found, list) else [found]
