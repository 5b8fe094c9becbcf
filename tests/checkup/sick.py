"""Environments that are each sick in one way, and a healthy one."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, VectorEnv


class Walk(gymnasium.Env[Any, Any]):
    """A walk in the plane for 20 steps; observes the place, pays for the way to the right. Healthy."""

    length = 20

    def __init__(self) -> None:
        self.observation_space = spaces.Box(-np.inf, np.inf, (2,), np.float32)
        self.action_space = spaces.Discrete(4)
        self.place = np.zeros(2)
        self.steps = 0

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.place = self.np_random.uniform(-0.1, 0.1, 2)
        self.steps = 0
        return self.observe(), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        move = np.array([(1, 0), (-1, 0), (0, 1), (0, -1)][int(action)])
        self.place = self.place + move
        self.steps += 1
        return self.observe(), self.pay(float(move[0])), False, self.steps >= self.length, {}

    def observe(self) -> Any:
        return self.place.astype(np.float32)

    def pay(self, way: float) -> float:
        return way


class Uneven(Walk):
    """One component of 10,000 beside one of 0.001."""

    def observe(self) -> Any:
        return (self.place * [1e4, 1e-3]).astype(np.float32)


class Blind(Walk):
    """Shows the same wherever it is."""

    def observe(self) -> Any:
        return np.array([0.3, -2.0], np.float32)


class Broken(Walk):
    """Shows NaN in the second component at the tenth step."""

    def observe(self) -> Any:
        return np.array([self.place[0], np.nan if self.steps == 10 else self.place[1]], np.float32)


class BrokenReward(Walk):
    """Pays infinity at the tenth step."""

    def pay(self, way: float) -> float:
        return np.inf if self.steps == 10 else way


class Generous(Walk):
    """Pays 100,000 a step."""

    def pay(self, way: float) -> float:
        return 1e5 * way


class Stingy(Walk):
    """Pays a thousandth a step."""

    def pay(self, way: float) -> float:
        return 1e-3 * way


class Endless(Walk):
    """Never ends."""

    length = 10**9


class Seen(Walk):
    """Healthy, and seen from above: a bright dot on 36 x 36 pixels."""

    def __init__(self) -> None:
        super().__init__()
        self.observation_space = spaces.Box(0, 255, (36, 36, 1), np.uint8)

    def observe(self) -> Any:
        picture = np.zeros((36, 36, 1), np.uint8)
        row, column = np.clip(self.place.round() + 18, 2, 33).astype(int)
        picture[row - 2 : row + 3, column - 2 : column + 3] = 255
        return picture


class Unseeded(Walk):
    """Begins somewhere else whatever the seed."""

    def observe(self) -> Any:
        return (self.place + np.random.default_rng().normal(size=2)).astype(np.float32)


class Walks(VectorEnv[Any, Any, Any]):
    """Eight walks that reset in the same step, with what is said of the last observation."""

    def __init__(self, said: str) -> None:
        self.metadata = {
            "autoreset_mode": AutoresetMode.NEXT_STEP if said == "next" else AutoresetMode.SAME_STEP
        }
        self.said = said
        self.walks = [Walk() for _ in range(8)]
        self.num_envs = 8
        self.single_observation_space = self.walks[0].observation_space
        self.single_action_space = self.walks[0].action_space
        self.observation_space = gymnasium.vector.utils.batch_space(
            self.single_observation_space, 8
        )
        self.action_space = gymnasium.vector.utils.batch_space(self.single_action_space, 8)
        self.was_closed = False

    def reset(self, *, seed: Any = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        seeds = [None if seed is None else seed + index for index in range(8)]
        first = [walk.reset(seed=each)[0] for walk, each in zip(self.walks, seeds, strict=True)]
        return np.stack(first), {}

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        outcomes = [walk.step(a) for walk, a in zip(self.walks, actions, strict=True)]
        observed, reward, terminated, truncated = (
            [outcome[part] for outcome in outcomes] for part in range(4)
        )
        last = list(observed)
        for index, over in enumerate(truncated):
            if over:
                observed[index] = self.walks[index].reset()[0]
        info: dict[str, Any] = {}
        if self.said in ("last", "first") and any(truncated):
            final = last if self.said == "last" else observed
            info["final_obs"] = np.array([*final, None], dtype=object)[:-1]
        flags = np.array(terminated), np.array(truncated)
        return np.stack(observed), np.array(reward), *flags, info

    def close_extras(self, **kwargs: Any) -> None:
        self.was_closed = True
