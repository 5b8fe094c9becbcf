"""Any Gymnasium vector environment as a task: spaces and both auto-reset modes."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from gymnasium.vector import AutoresetMode, SyncVectorEnv, VectorEnv
from torch import Tensor

from rle.checks import require
from rle.config import EnvironmentConfig
from rle.core.transfer import moved
from rle.errors import UsageError
from rle.randomness import derive_seed
from rle.tasks.base import Picture, State, Step, Task, TaskSpec, playable
from rle.tasks.gym.noted import Noted
from rle.tasks.gym.parts import parts_of, tell_of_losses, view_of
from rle.tasks.gym.showing import Showing, ShowingImages, ShowingVectors
from rle.tasks.spaces import action_space_of, fit_as_it_is

SEED_RANGE = 2**31
"""Seeds given to environments lie below this: some libraries accept no more than 32 bits."""


class VectorTask(Task):
    """A vector environment of the user's, stepped as it is.

    Observations are float32 vectors `[N, size]`, into which dictionaries, tuples, discrete observations
    and arrays of several dimensions are flattened; or bytes `[N, C, H, W]`, if it shows images.
    Actions are int64 `[N]` or `[N, size]`, or float32 `[N, size]`; the latter are clipped to the
    environment's bounds here, unseen by the learner.
    """

    def __init__(
        self,
        name: str,
        vector: VectorEnv[Any, Any, Any],
        device: str | torch.device,
        config: EnvironmentConfig,
    ) -> None:
        self._name = name
        self._device = torch.device(device)
        self._vector = vector
        if isinstance(vector, SyncVectorEnv):
            # Whoever made it gets all it had from the wrappers, and we know whose turn it is.
            vector.envs = [env if isinstance(env, Noted) else Noted(env) for env in vector.envs]
        parts = parts_of(name, vector.single_observation_space)
        tell_of_losses(name, parts)
        view = view_of(name, parts.space, config) if parts.is_image else None
        self._showing: Showing
        if view is not None:
            self._showing = ShowingImages(parts, view, vector.num_envs)
        else:
            self._showing = ShowingVectors(parts, vector)
            self.as_is = self._bool(fit_as_it_is(parts.space))
        self._next_step = _autoreset(name, vector) is AutoresetMode.NEXT_STEP
        self.steps_per_second = float((vector.metadata or {}).get("render_fps") or 15)
        self.spec = TaskSpec(
            vector.num_envs,
            self._showing.shape,
            self._showing.dtype,
            action_space_of(name, vector.single_action_space),
            1 if view is None else view.frame_stack,
            view,
        )
        self._no_transition = np.zeros(vector.num_envs, dtype=np.bool_)
        """bool `[N]`: entries of the coming call that are not transitions."""
        self._seed = 0
        self._steps = 0

    def reset(self, seed: int) -> Tensor:
        self._seed, self._steps = seed, 0
        return self._begin(seed)

    def _begin(self, seed: int) -> Tensor:
        self._no_transition = np.zeros_like(self._no_transition)
        # As a vector of all environments would have it: the i-th gets the i-th seed from there.
        first = seed % SEED_RANGE + self.world.first_env
        observation, _ = self._vector.reset(seed=first)
        return moved(self._showing.begin(observation), self._device)

    def step(self, action: Tensor) -> Step:
        outcome = self._vector.step(playable(self.spec.action_space, action))
        observed, reward, terminated, truncated, info = outcome
        self._steps += 1
        reward, terminated, truncated = map(np.asarray, (reward, terminated, truncated))
        skipped = self._no_transition
        ended = terminated | truncated
        # In next-step mode the call after an episode's end ignores its action and only resets. What
        # it acts on is the last observation, so that the true next observation is in its place too.
        self._no_transition = ended if self._next_step else np.zeros_like(ended)
        lasts = {} if self._next_step else self._last_observations(ended, info)
        begun = skipped if self._next_step else skipped | ended
        shown = self._showing.after(observed, begun)
        observation = next_observation = moved(shown, self._device)
        if lasts:
            true = shown.clone()
            for index, last in lasts.items():
                true[index] = last
            next_observation = moved(true, self._device)
        real = None
        if skipped.any():
            real = self._bool(~skipped)
            reward, terminated, truncated = (
                np.where(skipped, 0, array) for array in (reward, terminated, truncated)
            )
        return Step(
            self._float(reward),
            self._bool(terminated),
            # Nothing comes after a termination, whether or not the time was up as well.
            self._bool(truncated) & ~self._bool(terminated),
            next_observation,
            observation,
            real,
        )

    def _last_observations(
        self, ended: npt.NDArray[np.bool_], info: Mapping[str, Any]
    ) -> dict[int, Tensor]:
        """What the environments that ended showed last, where they have been reset since."""
        require(
            not ended.any() or "final_obs" in info,
            f"{self._name} resets in the same step and does not give the last observation of an "
            "episode: put it into info under final_obs, as Gymnasium does.",
        )
        return {
            index: self._showing.last(_entry(info["final_obs"], index), index)
            for index in np.flatnonzero(ended).tolist()
        }

    def _float(self, values: npt.NDArray[Any]) -> Tensor:
        # What is too large is infinite from here on, and ends the run: no need to warn of it.
        with np.errstate(over="ignore"):
            return moved(torch.from_numpy(np.array(values, dtype=np.float32)), self._device)

    def _bool(self, values: npt.NDArray[Any]) -> Tensor:
        return moved(torch.from_numpy(np.array(values, dtype=np.bool_)), self._device)

    def state_dict(self) -> State:
        """Gymnasium cannot copy it: only where its random numbers come from, and how far it got."""
        return {"seed": self._seed, "steps": self._steps}

    def load_state_dict(self, state: State) -> None:
        """Start new episodes, with random numbers that the run has not used yet."""
        self._seed, self._steps = state["seed"], state["steps"]
        self._begin(derive_seed(self._seed, f"resumed after {self._steps}"))
        # The next action was chosen for an episode that is gone.
        self._no_transition = np.ones_like(self._no_transition)
        self.restarted = True
        warnings.warn(
            f"{self._name} is a vector environment, which cannot be saved, so this run goes on with "
            "new episodes; the agent goes on exactly where it stopped.",
            stacklevel=2,
        )

    def busy(self) -> int | None:
        noted = enumerate(getattr(self._vector, "envs", ()))
        return next((i for i, env in noted if isinstance(env, Noted) and env.busy), None)

    def picture(self) -> Picture:
        pictures: Any = self._vector.render()
        if pictures is None or not isinstance(pictures[0], np.ndarray):
            raise UsageError(f"{self._name} does not draw itself and cannot be filmed.")
        return pictures[0]

    def close(self) -> None:
        self._vector.close()


def _autoreset(name: str, vector: VectorEnv[Any, Any, Any]) -> AutoresetMode:
    """When the environments of a vector start again."""
    said = (vector.metadata or {}).get("autoreset_mode")
    known = (AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP)
    mode = next((mode for mode in known if said in (mode, mode.value)), None)
    if mode is None:
        raise UsageError(
            f"{name} is a vector environment whose metadata have {said!r} for autoreset_mode: say "
            "gymnasium.vector.AutoresetMode.NEXT_STEP or SAME_STEP there, as it does."
        )
    return mode


def _entry(observed: Any, index: int) -> Any:
    """One environment's part of what may be a tree of arrays."""
    if isinstance(observed, dict):
        # Gymnasium says under `_key` where a key means anything.
        return {key: _entry(part, index) for key, part in observed.items() if key[:1] != "_"}
    if isinstance(observed, tuple):
        return tuple(_entry(part, index) for part in observed)
    return observed[index]


def require_single_settings_unused(name: str, config: EnvironmentConfig) -> None:
    """Refuse what is for single environments: a vector of the user's is stepped as it is."""
    for setting, unused in (
        ("wrappers", not config.wrappers),
        ("time-limit", config.time_limit is None),
        ("autoreset", config.autoreset == "next-step"),
    ):
        require(
            unused,
            f"{setting} is for single environments, and {name} is a vector environment, which is used "
            "as it is: leave it out.",
        )
