"""Numbers that tell whether a strategy does its work."""

from __future__ import annotations

import torch
from torch import Tensor

from rle.explore.base import Strategy
from rle.nets.actor_critic import ActorCritic
from rle.nets.distributions import ActionDistribution
from rle.world import ALONE, World


@torch.no_grad()
def latent_sensitivity(
    network: ActorCritic,
    distribution: ActionDistribution,
    strategy: Strategy,
    observation: Tensor,
    latent: Tensor | None,
    world: World = ALONE,
) -> float:
    """How strongly the policy depends on its latent: mean KL in nats between two z in one state.

    Each environment's observation `[N, ...]` is judged under its own latent `[N, L]` and under its
    neighbour's, wherever that is. 0 for an agent that sees none.
    """
    own = strategy.network_input(latent)
    if own is None or world.all_of(len(own)) < 2:
        return 0.0
    neighbours = world.part(world.gather(own).roll(1, 0))
    first, second = network.policy(observation, own), network.policy(observation, neighbours)
    return float(world.mean(distribution.divergence(first, second)))
