"""The environment checkers of Gymnasium and of Stable-Baselines3, on wrapped environments.

Both take single environments. A vector of one that never resets itself is one, taken out of its batch.
"""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.utils.env_checker import check_env as gymnasium_check
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from stable_baselines3.common.env_checker import check_env as sb3_check
from stable_baselines3.common.vec_env import DummyVecEnv

from rle.plugins.gymnasium import RandomLatentExploration
from rle.plugins.sb3 import VecRandomLatentExploration


class Seen(gymnasium.Env[Any, Any]):
    """Shows samples of a space: vectors, dictionaries, images."""

    action_space = spaces.Discrete(3)
    render_mode = None

    def __init__(self, space: spaces.Space[Any]) -> None:
        self.observation_space = space

    def _sample(self) -> Any:
        self.observation_space.seed(int(self.np_random.integers(2**31)))
        return self.observation_space.sample()

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        return self._sample(), {}

    def step(self, action: Any) -> Any:
        return self._sample(), float(action == 1), False, False, {}


SPACES = {
    "vector": spaces.Box(-1, 1, (3,), np.float32),
    "image": spaces.Box(0, 255, (40, 40, 3), np.uint8),
    "dictionary": spaces.Dict({"place": spaces.Box(-1, 1, (2,), np.float32)}),
}


class OneOfGymnasium(gymnasium.Env[Any, Any]):
    """The only environment of a wrapped Gymnasium vector."""

    render_mode = None

    def __init__(self, space: spaces.Space[Any]) -> None:
        mode = AutoresetMode.DISABLED
        vector = SyncVectorEnv([lambda: Seen(space)], autoreset_mode=mode)
        self._env = RandomLatentExploration(vector, 4, resample_every=2)
        self.observation_space = self._env.single_observation_space
        self.action_space = self._env.single_action_space

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        observation, _ = self._env.reset(seed=seed)
        return _first(observation), {}

    def step(self, action: Any) -> Any:
        observation, reward, terminated, truncated, _ = self._env.step(np.array([action]))
        return _first(observation), float(reward[0]), bool(terminated[0]), bool(truncated[0]), {}


class OneOfStableBaselines(gymnasium.Env[Any, Any]):
    """The only environment of a wrapped `VecEnv`."""

    render_mode = None

    def __init__(self, space: spaces.Space[Any]) -> None:
        self._env = VecRandomLatentExploration(DummyVecEnv([lambda: Seen(space)]), 4)
        self.observation_space = self._env.observation_space
        self.action_space = self._env.action_space

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        if seed is not None:
            self._env.seed(seed)
        return _first(self._env.reset()), {}

    def step(self, action: Any) -> Any:
        observation, reward, done, _ = self._env.step(np.array([action]))
        return _first(observation), float(reward[0]), bool(done[0]), False, {}


def _first(observation: Any) -> Any:
    if isinstance(observation, dict):
        return {key: part[0] for key, part in observation.items()}
    return observation[0]


@pytest.mark.parametrize("space", SPACES.values(), ids=SPACES)
@pytest.mark.parametrize("one", [OneOfGymnasium, OneOfStableBaselines])
def test_both_checkers_pass(one: Any, space: spaces.Space[Any]) -> None:
    gymnasium_check(one(space), skip_render_check=True)
    sb3_check(one(space), warn=False)
