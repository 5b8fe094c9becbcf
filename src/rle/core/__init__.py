"""Random Latent Exploration itself, in PyTorch alone: what goes into a training loop of your own.

    phi = core.random_features(observation_shape, dimension, generator)    # φ, or a module of yours
    latents = core.Latents(num_envs, dimension, period, generator)         # who follows which z
    random_reward = core.RandomReward(dimension)                           # F(s', z)
    scaler = core.RewardScaler(num_envs, torch.tensor([gamma_task, gamma_bonus]))
    for each step:
        z = latents.z                                     # policy and both values see it
        ...                                               # act; next_observation is the TRUE next one
        features = phi(next_observation)
        bonus = random_reward.reward(features, z)         # changes nothing
        random_reward.observe(features)
        switched = latents.step(terminated | truncated)   # where the bonus return is cut
    random_reward.commit()                                # after each rollout
    advantage = core.advantages(scaler(rewards, stop), values, next_values, cut, stop, gammas, lam)

Rewards, values and masks have one column per stream, `[T, N, K]`, here task and bonus. `cut` is
(terminated, switched) and `stop` (terminated | truncated, switched). Every object is saved by
`state_dict` and loaded by `load_state_dict`. `examples/core_ppo.py` is a whole agent.

`core.WhitenedReward(width, dimension, rarity, generator)` takes the place of `RandomReward`, with a φ of
`width` features: what is seldom seen weighs more, and pays by itself. Asked with a `core.Order` of the
rollout's transitions, it pays less for what an episode has shown before.
"""

import warnings
from typing import TYPE_CHECKING, Any

from rle.core.bonus import RandomReward, random_reward
from rle.core.distributions import (
    LATENT_DISTRIBUTIONS,
    LatentDistribution,
    check_latent_distribution,
    normal,
    sphere,
    uniform,
)
from rle.core.features import FeatureNetwork, follow, random_features
from rle.core.hindsight import hindsight_latents
from rle.core.latents import Latents, LatentState, stagger, start_latents, step_latents
from rle.core.novelty import Order, episodic_novelty
from rle.core.returns import advantages, discounted_sums, linear_recurrence
from rle.core.running_mean_std import RunningMeanStd
from rle.core.scaling import RewardScaler
from rle.core.whitening import WhitenedReward

__all__ = [
    "LATENT_DISTRIBUTIONS",
    "FeatureNetwork",
    "LatentDistribution",
    "LatentState",
    "Latents",
    "Order",
    "RandomReward",
    "RewardScaler",
    "RunningMeanStd",
    "WhitenedReward",
    "advantages",
    "check_latent_distribution",
    "discounted_sums",
    "episodic_novelty",
    "follow",
    "hindsight_latents",
    "linear_recurrence",
    "normal",
    "random_features",
    "random_reward",
    "sphere",
    "stagger",
    "start_latents",
    "step_latents",
    "uniform",
]

_RENAMED = {
    "LAWS": "LATENT_DISTRIBUTIONS",
    "Law": "LatentDistribution",
    "RunningMoments": "RunningMeanStd",
    "check_law": "check_latent_distribution",
}

if not TYPE_CHECKING:  # so that a misspelt name is still told by a type checker

    def __getattr__(name: str) -> Any:
        """What had another name before, with a notice."""
        if name not in _RENAMED:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        message = f"rle.core.{name} is now called {_RENAMED[name]}."
        warnings.warn(message, FutureWarning, stacklevel=2)
        return globals()[_RENAMED[name]]
