"""PPO with two value heads, two discounts and cuts at a change of z: the whole method."""

from __future__ import annotations

from typing import Any, ClassVar

import torch
from gymnasium import spaces
from stable_baselines3 import PPO
from stable_baselines3.common.policies import BasePolicy
from stable_baselines3.common.utils import obs_as_tensor
from stable_baselines3.common.vec_env import VecEnv
from torch import Tensor

from rle.errors import UsageError
from rle.plugins.sb3.buffers import TwoStreamDictRolloutBuffer, TwoStreamRolloutBuffer
from rle.plugins.sb3.policies import (
    TwoHeadCnnPolicy,
    TwoHeadMultiInputPolicy,
    TwoHeadPolicy,
    TwoHeads,
)
from rle.plugins.sb3.vec_env import exploration_of


class RLEPPO(PPO):
    """Stable-Baselines3's PPO on environments in a `VecRandomLatentExploration`.

    The advantage is the task's plus `coefficient` times the bonus's; both have a value head, and the
    bonus's has the wrapper's `discount` and is cut where z changes. `gamma` is the task's. `vf_coef`
    weighs the mean of both heads' squared errors.
    """

    policy_aliases: ClassVar[dict[str, type[BasePolicy]]] = {
        "MlpPolicy": TwoHeadPolicy,
        "CnnPolicy": TwoHeadCnnPolicy,
        "MultiInputPolicy": TwoHeadMultiInputPolicy,
    }

    def __init__(
        self,
        policy: str | type[BasePolicy],
        env: VecEnv | None,
        *args: Any,
        **kwargs: Any,
    ) -> None:
        """Build an agent; arguments are those of `PPO`, without `clip_range_vf`."""
        # By class: by name, Stable-Baselines3 refuses dictionaries to CnnPolicy, where z is an entry.
        policy = self.policy_aliases.get(policy, policy) if isinstance(policy, str) else policy
        if not (isinstance(policy, type) and issubclass(policy, TwoHeads)):
            raise UsageError(
                f"the policy {policy!r} has no value head for the bonus: use MlpPolicy, CnnPolicy, "
                "MultiInputPolicy, or a class that inherits from "
                "rle.plugins.sb3.policies.TwoHeads first."
            )
        if env is not None:
            exploration_of(env)
        super().__init__(policy, env, *args, **kwargs)  # type: ignore[arg-type]

    def _setup_model(self) -> None:
        if self.clip_range_vf is not None:
            raise UsageError(
                "clip_range_vf would clip the bonus's value too, whose targets move on purpose: leave "
                "it out."
            )
        has_parts = isinstance(self.observation_space, spaces.Dict)
        self.rollout_buffer_class = (
            TwoStreamDictRolloutBuffer if has_parts else TwoStreamRolloutBuffer
        )
        super()._setup_model()

    def collect_rollouts(
        self, env: VecEnv, callback: Any, rollout_buffer: Any, n_rollout_steps: int
    ) -> bool:
        exploration = exploration_of(env)

        @torch.no_grad()
        def next_bonus_values() -> Tensor:
            assert self._last_obs is not None
            assert isinstance(self.policy, TwoHeads)
            return self.policy.predict_bonus_values(obs_as_tensor(self._last_obs, self.device))

        rollout_buffer.listen(exploration, next_bonus_values)
        # Statistics change between rollouts only: within one, F is one function.
        with exploration.bonus.handed_over():
            completed = super().collect_rollouts(env, callback, rollout_buffer, n_rollout_steps)
        self.logger.record("rollout/bonus_mean", float(rollout_buffer.bonuses.mean()))
        return completed
