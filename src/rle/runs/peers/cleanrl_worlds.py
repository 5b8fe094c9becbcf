"""The very EnvPool that our task steps, with what CleanRL's scripts wrap around it, in NumPy."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from rle.config import RunConfig
from rle.tasks.base import Continuous
from rle.tasks.envpool import EnvPoolTask
from rle.tasks.registry import make_task

Array = npt.NDArray[Any]
EPSILON = 1e-8


class Moments:
    """Running mean and variance of samples `[B, *shape]`, in NumPy."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.mean, self.variance, self.count = np.zeros(shape), np.ones(shape), 0.0

    def update(self, samples: Array) -> None:
        """Take some in."""
        mean, variance, count = samples.mean(0), samples.var(0), len(samples)
        total = self.count + count
        shift = mean - self.mean
        squares = self.variance * self.count + variance * count
        self.variance = (squares + shift**2 * self.count * count / total) / total
        self.mean = self.mean + shift * count / total
        self.count = total


class Worlds:
    """The engine with what wrappers do around it: statistics of episodes, and normalisation."""

    def __init__(self, config: RunConfig) -> None:
        plain = dataclasses.replace(config.environment, normalise_observations=False)
        threads = config.machine.engine_threads
        task = make_task(config.task, plain, torch.device("cpu"), engine_threads=threads)
        assert isinstance(task, EnvPoolTask)
        self._first = task.reset(config.seed)
        self.spec, self._engine, self._layout = task.spec, task.engine, task.layout
        self._environment, self._learner = config.environment, config.learner
        self._normalise = config.environment.normalise_observations and not self.spec.is_image
        self._observed = Moments(self.spec.observation_shape)
        self._sums, self._rewards = np.zeros(self.spec.num_envs), Moments(())
        self._scores, self._lengths = np.zeros(self.spec.num_envs), np.zeros(self.spec.num_envs)
        self.finished: list[tuple[float, int]] = []
        """Score and length of every episode that has ended."""

    def reset(self) -> Tensor:
        """What is seen first."""
        return self._shown(self._first)

    def step(self, action: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Observations, rewards and 1 where an episode ended; each `[N, ...]`."""
        space = self.spec.action_space
        played = action.numpy()
        if isinstance(space, Continuous):
            played = np.clip(played, space.low, space.high).astype(space.dtype)
            played = played.reshape(-1, *(space.shape or (space.size,)))
        else:
            played = played.astype(np.int32)
        observed, reward, terminated, truncated, _ = self._engine.step(played)
        done = terminated | truncated
        self._scores += reward
        self._lengths += 1
        for index in np.flatnonzero(done):
            self.finished.append((float(self._scores[index]), int(self._lengths[index])))
        self._scores[done], self._lengths[done] = 0, 0
        if self._learner.scale_reward:
            reward = self._scaled(reward, done)
        shown = self._shown(self._layout.tensor(observed))
        return shown, torch.tensor(reward, dtype=torch.float32), torch.tensor(done).float()

    def _shown(self, observation: Tensor) -> Tensor:
        if not self._normalise:
            return observation
        values = observation.numpy()
        self._observed.update(values)
        deviation = np.sqrt(self._observed.variance + EPSILON)
        clip = self._environment.observation_clip
        shown = np.clip((values - self._observed.mean) / deviation, -clip, clip)
        return torch.from_numpy(shown.astype(np.float32))

    def _scaled(self, reward: Array, done: Array) -> Array:
        self._sums = self._sums * self._learner.discount + reward
        self._rewards.update(self._sums)
        self._sums[done] = 0
        scaled: Array = reward / np.sqrt(self._rewards.variance + EPSILON)
        clip = self._learner.reward_clip
        return scaled if clip is None else np.clip(scaled, -clip, clip)
