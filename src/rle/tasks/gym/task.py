"""N copies of a Gymnasium environment as a task that can be resumed exactly."""

from __future__ import annotations

import warnings
from typing import Any

import gymnasium
import numpy as np
import torch
from gymnasium.vector import SyncVectorEnv, VectorEnv

from rle.config import EnvironmentConfig
from rle.errors import UsageError
from rle.tasks.base import Picture, State, Task
from rle.tasks.gym.making import (
    Maker,
    call,
    parts_shown,
    unflattened,
    vector_by_id,
    vector_of_made,
)
from rle.tasks.gym.names import check_gym_id, function_of, missing_package
from rle.tasks.gym.parts import tell_of_losses
from rle.tasks.gym.rewind import Rewindable
from rle.tasks.gym.vector import VectorTask, require_single_settings_unused
from rle.tasks.spaces import fit_as_it_is


def make_gym_task(
    env_id: str, config: EnvironmentConfig, device: str | torch.device, pictures: bool = False
) -> Task:
    """The task of an id of Gymnasium's, or of `module:function`."""
    check_gym_id(env_id)
    make = function_of(env_id)
    if make is None:
        return GymTask(env_id, config, device, pictures)
    return task_made_by(make, f"gym/{env_id}", config, device, pictures)


def task_made_by(
    make: Maker,
    name: str,
    config: EnvironmentConfig,
    device: str | torch.device,
    pictures: bool = False,
) -> Task:
    """The task called `name` of a function that returns an environment, or a vector of them."""
    first = call(make, name, config, pictures)
    if not isinstance(first, VectorEnv):
        vector = vector_of_made(first, make, name, config, pictures)
        return GymTask(name.removeprefix("gym/"), config, device, vector=vector)
    require_single_settings_unused(name, config)
    return VectorTask(name, first, device, config)


class GymTask(VectorTask):
    """N copies of a Gymnasium environment, stepped in this process one after the other."""

    splits = True
    per_environment = ("environments", "no_transition", "frames")
    _vector: SyncVectorEnv[Any, Any]

    def __init__(
        self,
        env_id: str,
        config: EnvironmentConfig,
        device: str | torch.device,
        pictures: bool = False,
        vector: SyncVectorEnv[Any, Any] | None = None,
    ) -> None:
        """Make the environments by their id, unless they are given as a `vector` of `Rewindable`."""
        if vector is None:
            check_gym_id(env_id)
            vector = vector_by_id(env_id, config, pictures)
        super().__init__(f"gym/{env_id}", vector, device, config)
        parts = parts_shown(self._environments[0])
        if parts is not None:
            tell_of_losses(self._name, parts)
        if not self.spec.is_image:
            self.as_is = self._bool(fit_as_it_is(unflattened(self._environments[0])))

    @property
    def _environments(self) -> list[Rewindable]:
        return self._vector.envs  # type: ignore[return-value]

    def state_dict(self) -> State:
        return {
            "environments": [environment.state_dict() for environment in self._environments],
            "no_transition": torch.from_numpy(self._no_transition.copy()),
            **self._showing.state_dict(),
        }

    def load_state_dict(self, state: State) -> None:
        saved = state["environments"]
        exact = np.array(
            [env.load_state_dict(s) for env, s in zip(self._environments, saved, strict=True)]
        )
        self._showing.load_state_dict(state)
        pending = np.array([environment.ended for environment in self._environments])
        # Gymnasium has no public way to say that an environment waits for its reset.
        self._vector._autoreset_envs = pending & self._next_step
        # Where a new episode had to be started, the next action was meant for the old one.
        self._no_transition = state["no_transition"].numpy() | ~exact
        self.restarted = not exact.all()
        if self.restarted:
            warnings.warn(
                f"{self._name} does not repeat itself under the same seed and actions, so "
                f"this run goes on with new episodes instead of exactly where it stopped.",
                stacklevel=2,
            )

    def picture(self) -> Picture:
        try:
            picture = self._environments[0].render()
        except (ImportError, gymnasium.error.DependencyNotInstalled) as error:
            raise UsageError(missing_package(self._name, error)) from error
        if not isinstance(picture, np.ndarray):
            raise UsageError(f"{self._name} does not draw itself and cannot be filmed.")
        return picture
