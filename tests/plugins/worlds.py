"""Small environments whose every number is known."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import torch
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from torch import nn


class Clock(gymnasium.Env[Any, Any]):
    """Shows (steps of this episode, number of the episode); the reward is 1; ends when it is told to."""

    def __init__(self, ends_after: int | None = None, how: str = "terminated") -> None:
        self.observation_space = spaces.Box(-100, 100, (2,), np.float32)
        self.action_space = spaces.Discrete(2)
        self._ends_after, self._how = ends_after, how
        self._episode = -1
        self._time = 0
        self.calls = 0

    def _observe(self) -> Any:
        return np.array([self._time, self._episode], np.float32)

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self._episode = 0 if seed is not None else self._episode + 1
        self._time = 0
        return self._observe(), {}

    def step(self, action: Any) -> Any:
        self.calls += 1
        self._time += 1
        ended = self._time == self._ends_after
        terminated, truncated = (
            ended and self._how == "terminated",
            ended and self._how == "truncated",
        )
        return self._observe(), 1.0, terminated, truncated, {}


class Pixels(gymnasium.Env[Any, Any]):
    """Random bytes, as a picture or as a dictionary with one; every episode has 5 steps."""

    def __init__(self, shape: tuple[int, ...] = (40, 40, 3), as_entry: bool = False) -> None:
        image = spaces.Box(0, 255, shape, np.uint8)
        parts = {"picture": image, "place": spaces.Discrete(3)}
        self.observation_space: Any = spaces.Dict(parts) if as_entry else image
        self.action_space = spaces.Discrete(2)
        self._time = 0

    def _observe(self) -> Any:
        self.observation_space.seed(int(self.np_random.integers(2**31)))
        return self.observation_space.sample()

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self._time = 0
        return self._observe(), {}

    def step(self, action: Any) -> Any:
        self._time += 1
        return self._observe(), 0.0, False, self._time == 5, {}


class Itself(nn.Module):
    """φ that is the observation."""

    def forward(self, observation: torch.Tensor) -> torch.Tensor:
        return observation


PLAIN: dict[str, Any] = {
    "dimension": 2,
    "coefficient": 0.5,
    "resample_every": 4,
    "standardise": False,
    "unit_norm": False,
    "scale_bonus": False,
}
"""F(s', z) = s'·z, half of which is paid; four steps under one z."""


def clocks() -> list[Any]:
    """One that terminates after 3 steps, one whose time is up after 6, one that never ends."""
    return [lambda: Clock(3), lambda: Clock(6, "truncated"), lambda: Clock()]


def clock_vector(mode: AutoresetMode) -> SyncVectorEnv[Any, Any]:
    return SyncVectorEnv(clocks(), autoreset_mode=mode)
