"""Uniformly random actions: the control that tells exploring from merely not settling."""

from __future__ import annotations

import torch
from torch import Tensor

from rle.config import RunConfig
from rle.core.transfer import moved
from rle.explore.base import Strategy
from rle.randomness import generator, generator_state, restore_generator
from rle.tasks.base import ActionSpace, State, TaskSpec, random_actions


class RandomActions(Strategy):
    """Takes uniformly random actions, whatever the policy chose, and learns nothing."""

    learns = False
    splits = True

    def __init__(
        self, action_space: ActionSpace, num_envs: int, seed: int, device: torch.device
    ) -> None:
        self._action_space = action_space
        self._num_envs = num_envs
        self._device = device
        self._generator = generator(seed, "random actions")
        self._drawn = self._next = torch.zeros(0)
        self._time = 0

    def draw(self, steps: int) -> None:
        everywhere = self.world.all_of(self._num_envs)
        flat = random_actions(self._action_space, steps * everywhere, self._generator)
        drawn = flat.unflatten(0, (steps, everywhere))
        self._drawn = self._next = moved(self.world.part(drawn, 1), self._device)
        self._time = 0

    def take(self, first: int, steps: int) -> None:
        self._next = self._drawn[first : first + steps]
        self._time = 0

    def action(self, chosen: Tensor) -> Tensor:
        self._time += 1
        return self._next[self._time - 1]

    def serve(self, num_envs: int) -> None:
        self._num_envs = num_envs

    def reseed(self, seed: int) -> None:
        self._generator = generator(seed, "random actions")

    def state_dict(self) -> State:
        return {"generator": generator_state(self._generator)}

    def load_state_dict(self, state: State) -> None:
        self._generator = restore_generator(state["generator"])


def build_random_actions(
    config: RunConfig, settings: None, spec: TaskSpec, device: torch.device
) -> RandomActions:
    """Random actions in the task of `spec`."""
    return RandomActions(spec.action_space, spec.num_envs, config.seed, device)
