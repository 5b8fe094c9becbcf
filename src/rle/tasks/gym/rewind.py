"""Exact resume: an environment that is saved as the way to its present."""

from __future__ import annotations

import json
from typing import Any, SupportsFloat

import gymnasium
import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from rle.tasks.base import State
from rle.tasks.gym.noted import Noted


class Rewindable(Noted):
    """An environment that can be saved as the way to its present: a random state and actions.

    Gymnasium has no way to copy an environment's state into a file. Playing the episode again from
    the random state before its reset needs none, and restores the counters of all wrappers as well.
    """

    def __init__(self, env: gymnasium.Env[Any, Any]) -> None:
        super().__init__(env)
        self.ended = False
        """Whether the episode is over and the environment waits for its reset."""
        self._seed = 0
        self._generator_before: str | None = None
        self._actions: list[Any] = []
        self._observation: npt.NDArray[Any] = np.zeros(0)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        if seed is not None:
            self._seed = seed
        self._generator_before = None if seed is not None else self._generator_state()
        self._actions = []
        self.ended = False
        self._observation, info = super().reset(seed=seed, options=options)
        return self._observation, info

    def step(self, action: Any) -> tuple[Any, SupportsFloat, bool, bool, dict[str, Any]]:
        self._actions.append(action)
        outcome = super().step(action)
        self._observation = outcome[0]
        self.ended = bool(outcome[2] or outcome[3])
        return outcome

    def _generator_state(self) -> str:
        # As text: its integers have 128 bits.
        state = self.unwrapped.np_random.bit_generator.state
        return json.dumps(state, default=np.ndarray.tolist)

    def _set_generator(self, state: str) -> None:
        # In place, for parts of an environment that share the generator.
        self.unwrapped.np_random.bit_generator.state = json.loads(state)

    def _flat_observation(self) -> Tensor:
        """As numbers without loss; images as the bytes that they are."""
        seen = np.asarray(self._observation)
        image = seen.dtype == np.uint8 and seen.ndim > 1
        return torch.from_numpy(np.array(seen, dtype=np.uint8 if image else np.float64))

    def state_dict(self) -> State:
        """Say how the episode began, and its actions `[steps, ...]` since."""
        space = self.action_space
        actions = np.array(self._actions, dtype=space.dtype).reshape(-1, *(space.shape or ()))
        return {
            "seed": self._seed,
            "generator_before": self._generator_before,
            "generator": self._generator_state(),
            "actions": torch.from_numpy(actions),
            "observation": self._flat_observation(),
        }

    def load_state_dict(self, state: State) -> bool:
        """Play the saved episode again; False, with a new episode, if that leads somewhere else."""
        self.reset(seed=state["seed"])
        if state["generator_before"] is not None:
            self._set_generator(state["generator_before"])
            self.reset()
        for action in state["actions"].numpy():
            if self.ended:
                break
            self.step(action)
        exact = len(self._actions) == len(state["actions"]) and torch.equal(
            self._flat_observation(), state["observation"]
        )
        # Exact or not, from here on the random numbers are those of the uninterrupted run.
        self._set_generator(state["generator"])
        if not exact:
            self.reset()
        return exact
