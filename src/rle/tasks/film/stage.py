"""What can be filmed: one environment, and pictures of what happens in it."""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod

import torch
from torch import Tensor

from rle.checks import require
from rle.config import EnvironmentConfig
from rle.tasks.asked import Asked
from rle.tasks.base import Picture, Step
from rle.tasks.registry import make_task

MOST_PICTURES = 30
"""Per second: more would take long to draw, and an eye sees no difference."""


class Filmed(ABC):
    """A single environment; its tensors have N = 1."""

    frames_per_second: int

    @abstractmethod
    def reset(self, seed: int) -> Tensor:
        """Start afresh; returns the observation `[1, ...]`."""

    @abstractmethod
    def step(self, action: Tensor) -> Step:
        """Take an action `[1, ...]`."""

    @abstractmethod
    def pictures(self) -> list[Picture]:
        """What was to be seen since the last call of this."""

    def draw(self, steps: int) -> None:
        """Nothing: every step draws its own randomness."""

    @abstractmethod
    def close(self) -> None:
        """Release what the environment holds."""


class FilmedTask(Filmed):
    """Any task that can draw itself, at the pace of its own world."""

    def __init__(self, name: str, config: EnvironmentConfig) -> None:
        # Observations as they are: the agent knows how it sees them.
        single = dataclasses.replace(config, num_envs=1, normalise_observations=False)
        task = make_task(name, single, torch.device("cpu"), engine_threads=1, pictures=True)
        self._task = Asked(name, task)
        require(
            self._task.spec.num_envs == 1,
            f"{name} has {self._task.spec.num_envs} environments whatever is asked for, and a film "
            "shows one: let the function that makes it take num_envs.",
        )
        rate = self._task.steps_per_second
        self._steps_per_picture = max(1, round(rate / MOST_PICTURES))
        self.frames_per_second = max(1, round(rate / self._steps_per_picture))
        self._steps = 0
        self._pictures: list[Picture] = []

    def reset(self, seed: int) -> Tensor:
        self._steps = 0
        observation = self._task.reset(seed)
        self._pictures = [self._task.picture()]
        return observation

    def step(self, action: Tensor) -> Step:
        self._task.draw(1)
        step = self._task.step(action.cpu())
        self._steps += 1
        ended = bool(step.terminated | step.truncated)
        # Where the next episode has begun already, its picture does not belong to this one.
        begun = ended and step.observation is not step.next_observation
        if not begun and (ended or self._steps % self._steps_per_picture == 0):
            self._pictures.append(self._task.picture())
        return step

    def pictures(self) -> list[Picture]:
        taken, self._pictures = self._pictures, []
        return taken

    def close(self) -> None:
        self._task.close()
