"""φ that follows what a policy's value is computed from."""

from __future__ import annotations

from typing import Any

import torch
from gymnasium import spaces
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.policies import ActorCriticPolicy
from stable_baselines3.common.preprocessing import preprocess_obs
from stable_baselines3.dqn.policies import DQNPolicy
from torch import Tensor, nn

from rle.checks import require_fraction
from rle.errors import UsageError
from rle.plugins.sb3.vec_env import VecRandomLatentExploration, exploration_of


class ValueFeatures(nn.Module):
    """The layers of a policy that end in what its value is a linear function of."""

    def __init__(
        self, extractor: nn.Module, body: nn.Module, space: spaces.Space[Any], scales_images: bool
    ) -> None:
        super().__init__()
        self.extractor = extractor
        self.body = body
        self._space = space
        self._scales_images = scales_images

    def forward(self, observation: Any) -> Tensor:
        """What the environment shows, as tensors `[N, ...]` with z, to `[N, width]`."""
        shown = _arranged(observation, self._space)
        seen = preprocess_obs(shown, self._space, normalize_images=self._scales_images)
        return self.body(self.extractor(seen))


def _arranged(observation: Any, space: spaces.Space[Any]) -> Any:
    """Images with their channels first where the policy's space has them so."""
    if isinstance(space, spaces.Dict):
        return {key: _arranged(observation[key], part) for key, part in space.spaces.items()}
    if len(space.shape or ()) == 3 and tuple(observation.shape[1:]) != space.shape:
        return observation.permute(0, 3, 1, 2)
    return observation


def value_features(model: BaseAlgorithm) -> ValueFeatures:
    """Those of a model; they share its parameters."""
    policy = model.policy
    extractor: nn.Module
    body: nn.Module
    if isinstance(policy, ActorCriticPolicy):
        extractor, body = policy.vf_features_extractor, policy.mlp_extractor.value_net
    elif isinstance(policy, DQNPolicy):
        extractor, body = policy.q_net.features_extractor, policy.q_net.q_net[:-1]
    else:
        raise UsageError(
            f"the values of {type(policy).__name__} are not of observations alone, so φ cannot follow "
            "them: leave φ frozen, or give one of your own as features."
        )
    return ValueFeatures(extractor, body, policy.observation_space, policy.normalize_images)


class FollowValueFeatures(BaseCallback):
    """Lets φ follow the policy's value features: φ ← τ V + (1-τ) φ after every gradient step."""

    def __init__(self, rate: float = 0.005, verbose: int = 0) -> None:
        """`rate` is τ; the paper's is 0.005."""
        super().__init__(verbose)
        require_fraction("rate", rate)
        self._rate = rate
        self._hook: Any = None

    def _on_training_start(self) -> None:
        env: VecRandomLatentExploration = exploration_of(self.model.get_env())
        leader = value_features(self.model)
        # The first call only makes the copy; while nothing was learned, following changes nothing.
        env.follow(leader, 0.0)

        def after_gradient_step(*_: Any) -> None:
            env.follow(leader, self._rate)

        optimizer: torch.optim.Optimizer = self.model.policy.optimizer
        self._hook = optimizer.register_step_post_hook(after_gradient_step)

    def _on_step(self) -> bool:
        return True

    def _on_training_end(self) -> None:
        self._hook.remove()
