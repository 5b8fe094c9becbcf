"""Rollouts with two streams of rewards and values, the task's and the bonus's."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
from stable_baselines3.common.buffers import DictRolloutBuffer, RolloutBuffer
from torch import Tensor

from rle.core.returns import advantages
from rle.plugins.sb3.vec_env import VecRandomLatentExploration


class TwoStreams:
    """A rollout buffer that keeps the bonus's stream beside the task's, and adds their advantages.

    Everything of the task's is Stable-Baselines3's own. The learner gets the values and returns of both
    in turn, `[2 B]`, as it gets them from a policy with two heads.
    """

    bonuses: np.ndarray
    """F `[T, N]`."""
    changed: np.ndarray
    """bool `[T, N]`: where the bonus return is cut."""
    bonus_values: np.ndarray
    bonus_returns: np.ndarray

    def listen(
        self, env: VecRandomLatentExploration, next_bonus_values: Callable[[], Tensor]
    ) -> None:
        """Take bonuses from `env`, and the values `[N, 1]` of what follows the last row when asked."""
        self._env = env
        self._next_bonus_values = next_bonus_values

    def reset(self: Any) -> None:
        super().reset()  # type: ignore[misc]
        shape = (self.buffer_size, self.n_envs)
        self.bonuses = np.zeros(shape, np.float32)
        self.changed = np.zeros(shape, np.bool_)
        self.bonus_values = np.zeros(shape, np.float32)
        self.bonus_returns = np.zeros(shape, np.float32)

    def add(
        self: Any,
        obs: Any,
        action: Any,
        reward: Any,
        episode_start: Any,
        value: Tensor,
        log_prob: Tensor,
    ) -> None:
        self.bonuses[self.pos] = self._env.last_bonus
        self.changed[self.pos] = self._env.last_changed
        self.bonus_values[self.pos] = value[:, 1].cpu().numpy()
        super().add(obs, action, reward, episode_start, value[:, :1], log_prob)  # type: ignore[misc]

    def compute_returns_and_advantage(self: Any, last_values: Tensor, dones: Any) -> None:
        super().compute_returns_and_advantage(last_values, dones)  # type: ignore[misc]
        bonus = self._env.bonus
        changed = torch.from_numpy(self.changed)
        values = torch.from_numpy(self.bonus_values)
        scaled = bonus.scale_rollout(torch.from_numpy(self.bonuses), changed)
        next_values = torch.cat([values[1:], self._next_bonus_values().cpu().T])
        # Where the next row is another episode's, z changes too: its value is not looked at.
        of_bonus = advantages(
            scaled[..., None],
            values[..., None],
            next_values[..., None],
            changed[..., None],
            changed[..., None],
            torch.tensor([bonus.settings.discount]),
            self.gae_lambda,
        )[..., 0]
        self.bonus_returns = (of_bonus + values).numpy()
        self.advantages = self.advantages + bonus.settings.coefficient * of_bonus.numpy()

    def get(self: Any, batch_size: int | None = None) -> Iterator[Any]:
        if not self.generator_ready:
            self.bonus_values = self.swap_and_flatten(self.bonus_values)
            self.bonus_returns = self.swap_and_flatten(self.bonus_returns)
        yield from super().get(batch_size)  # type: ignore[misc]

    def _get_samples(self: Any, batch_inds: Any, env: Any = None) -> Any:
        samples = super()._get_samples(batch_inds, env)  # type: ignore[misc]
        return samples._replace(
            old_values=self._both(samples.old_values, self.bonus_values[batch_inds]),
            returns=self._both(samples.returns, self.bonus_returns[batch_inds]),
        )

    def _both(self: Any, of_task: Tensor, of_bonus: Any) -> Tensor:
        """`[2 B]`: the first transition's two, the second's two, and so on."""
        return torch.stack([of_task, self.to_torch(of_bonus).flatten()], -1).flatten()


class TwoStreamRolloutBuffer(TwoStreams, RolloutBuffer):  # type: ignore[misc]
    """For observations that are one array."""


class TwoStreamDictRolloutBuffer(TwoStreams, DictRolloutBuffer):  # type: ignore[misc]
    """For observations that are dictionaries."""
