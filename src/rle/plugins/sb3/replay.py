"""Replay for DQN, SAC and TD3, in which every transition can be lived again under any z.

What a transition earns under z is a dot product with features that are stored: replayed under another z
than its own, it is as true as the first time.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from stable_baselines3.common.buffers import DictReplayBuffer, ReplayBuffer
from stable_baselines3.common.type_aliases import DictReplayBufferSamples, ReplayBufferSamples
from stable_baselines3.common.vec_env import VecEnv, unwrap_vec_normalize
from torch import Tensor

from rle.checks import nearest, require
from rle.core.hindsight import hindsight_latents
from rle.errors import UsageError
from rle.plugins.features import FollowingFeatures
from rle.plugins.observations import as_tensors
from rle.plugins.sb3.vec_env import VecRandomLatentExploration, exploration_of

WAYS = ("stored", "fresh", "hindsight")
"""Under which z a transition is replayed: the one it was lived under; a new one; the one under which
what followed it earned the most."""
HORIZON = 32
"""Steps that hindsight looks at."""


class _Source:
    """The wrapper whose F is paid; left out where a buffer or a model is pickled."""

    def __init__(self, env: VecRandomLatentExploration | None = None) -> None:
        self._env = env

    @property
    def env(self) -> VecRandomLatentExploration:
        if self._env is None:
            raise UsageError(
                "the replay buffer has lost its environment: load the model by rle.plugins.sb3.load, "
                "or call replay_buffer.connect(env)."
            )
        return self._env

    def __reduce__(self) -> Any:
        return _Source, ()


def replaying(env: VecEnv, **shares: float) -> dict[str, Any]:
    """`replay_buffer_kwargs` for a `LatentReplayBuffer`.

    Args:
        env: the model's environment, in a `VecRandomLatentExploration`.
        **shares: what share of a batch is replayed under which z: `stored`, `fresh`, `hindsight`. None
            at all: everything as `stored`.

    """
    if unwrap_vec_normalize(env) is not None:
        raise UsageError(
            "off-policy agents store what VecNormalize has not normalised yet, without z: normalise "
            "within each environment, by gymnasium.wrappers.NormalizeObservation."
        )
    exploration = exploration_of(env)
    require(
        exploration.bonus.settings.coefficient > 0,
        "the wrapper's coefficient is 0, so no z earns anything: give one above 0.",
    )
    return {"source": _Source(exploration), "shares": shares or {"stored": 1.0}}


class Relabelling:
    """A replay buffer that stores the task's reward and φ, and chooses z for every batch."""

    features: np.ndarray
    """φ(s') `[size, N, d]`, or `[size, N, m]` if m features are whitened."""

    def __init__(
        self: Any, *args: Any, source: _Source, shares: dict[str, float], **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        for name, share in shares.items():
            require(
                name in WAYS, f"there is no way to replay called {name!r}: {nearest(name, WAYS)}"
            )
            require(share >= 0, f"the share of {name!r} is {share}: give 0 or a number above it.")
        total = sum(shares.values())
        require(total > 0, "all shares are 0: give one of them above it.")
        self._shares = [shares.get(name, 0.0) / total for name in WAYS]
        self._source = source
        self._generator = torch.Generator().manual_seed(np.random.randint(2**31))
        size = source.env.bonus.settings.features if source._env is not None else 0
        self.features = np.zeros((self.buffer_size, self.n_envs, size), np.float32)

    def connect(self, env: VecEnv) -> None:
        """Pay by the F of `env`'s wrapper: after the buffer or its model was loaded."""
        self._source = _Source(exploration_of(env))
        size = self._source.env.bonus.settings.features
        if self.features.shape[-1] != size:
            self.features = np.zeros((*self.features.shape[:2], size), np.float32)

    def add(
        self: Any, obs: Any, next_obs: Any, action: Any, reward: Any, done: Any, infos: Any
    ) -> None:
        features = self._source.env.bonus.last_features
        self.features[self.pos] = features.cpu().numpy()
        task = np.array([info["task_reward"] for info in infos], np.float32)
        super().add(obs, next_obs, action, task, done, infos)  # type: ignore[misc]

    def _get_samples(self: Any, batch_inds: Any, env: Any = None) -> Any:
        environments = np.random.randint(0, self.n_envs, size=len(batch_inds))
        rows = batch_inds, environments
        exploration = self._source.env
        before, lived_under = exploration.observations.split(_taken(self.observations, rows))
        after, _ = exploration.observations.split(_taken(self.next_observations, rows))
        z = self._latents(rows, torch.from_numpy(np.asarray(lived_under, np.float32)))
        features = torch.from_numpy(self.features[rows])
        if isinstance(exploration.bonus.features, FollowingFeatures):
            # φ has moved since; hindsight alone remembers what it was.
            with torch.no_grad():
                features = exploration.bonus.features(as_tensors(after, exploration.bonus.device))
        reward = self.rewards[rows] + _bonus(exploration, features, z)
        # Only a termination ends the return: it goes on at a time limit, and where z was changed.
        ended = self.dones[rows] * (1 - self.timeouts[rows])
        z = z.numpy()
        kind = (
            DictReplayBufferSamples if isinstance(self, DictReplayBuffer) else ReplayBufferSamples
        )
        return kind(
            observations=self._on_device(exploration.observations.join(before, z)),
            actions=self.to_torch(self.actions[rows]),
            next_observations=self._on_device(exploration.observations.join(after, z)),
            dones=self.to_torch(ended.reshape(-1, 1)),
            rewards=self.to_torch(reward.reshape(-1, 1)),
        )

    def _on_device(self: Any, observation: Any) -> Any:
        if isinstance(observation, dict):
            return {key: self.to_torch(part) for key, part in observation.items()}
        return self.to_torch(observation)

    def _latents(self: Any, rows: Any, lived_under: Tensor) -> Tensor:
        """One z for every transition of a batch, `[B, d]`."""
        ways = torch.from_numpy(np.random.choice(len(WAYS), len(lived_under), p=self._shares))
        z = lived_under
        if self._shares[1] or self._shares[2]:
            fresh = self._source.env.bonus.draw(len(z), self._generator).cpu()
            z = torch.where((ways == 1)[:, None], fresh, z)
        if self._shares[2]:
            chosen = (ways == 2).nonzero()[:, 0]
            picked = tuple(part[chosen.numpy()] for part in rows)
            z[chosen] = self._in_hindsight(picked, fresh[chosen].norm(dim=-1))
        return z

    def _in_hindsight(self: Any, rows: Any, lengths: Tensor) -> Tensor:
        index, environments = rows
        steps = (index + np.arange(HORIZON)[:, None]) % self.buffer_size
        features = torch.from_numpy(self.features[steps, environments])
        # Until the episode's end or the newest transition, whichever comes first.
        newest = (self.pos - 1) % self.buffer_size
        last = (self.dones[steps, environments] > 0) | (steps == newest)
        lived = torch.from_numpy(np.cumsum(last, 0) - last == 0)
        bonus = self._source.env.bonus
        seen = bonus.random_reward.standardised(features.to(bonus.device))
        return hindsight_latents(seen.cpu(), lived, bonus.settings.discount, lengths)


def _taken(stored: Any, rows: Any) -> Any:
    if isinstance(stored, dict):
        return {key: part[rows] for key, part in stored.items()}
    return stored[rows]


def _bonus(exploration: VecRandomLatentExploration, features: Tensor, z: Tensor) -> Any:
    """What the reward gains `[B]`, by F and its scale as they are now."""
    bonus = exploration.bonus
    if not bonus.pays:
        return 0.0
    earned = bonus.reward(features.to(bonus.device), z.to(bonus.device))
    return (bonus.settings.coefficient * bonus.scale(earned)).cpu().numpy()


class LatentReplayBuffer(Relabelling, ReplayBuffer):
    """For observations that are one array."""


class LatentDictReplayBuffer(Relabelling, DictReplayBuffer):
    """For observations that are dictionaries."""
