"""One environment of several: whose turn it is, and whether what it gives is what it declares."""

from __future__ import annotations

from typing import Any, SupportsFloat

import gymnasium
import numpy as np
from gymnasium import spaces

from rle.tasks.base import MisbehaviourError


class Noted(gymnasium.Wrapper[Any, Any, Any, Any]):
    """An environment of which others can tell that it is called right now, or that it failed."""

    def __init__(self, env: gymnasium.Env[Any, Any]) -> None:
        super().__init__(env)
        self.busy = False
        """Whether a call is under way, or the last one failed."""
        space = self.observation_space
        self._box = space if isinstance(space, spaces.Box) else None
        self._dtype: Any = None
        """That observations had when they were last looked at closely."""

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        self.busy = True
        outcome = self.env.reset(seed=seed, options=options)
        if not isinstance(outcome, tuple) or len(outcome) != 2:
            raise MisbehaviourError(
                f"returned {_kind(outcome)} from reset instead of an observation and a dictionary"
            )
        self._check_observation(outcome[0])
        self.busy = False
        return outcome

    def step(self, action: Any) -> tuple[Any, SupportsFloat, bool, bool, dict[str, Any]]:
        self.busy = True
        outcome = self.env.step(action)
        if not isinstance(outcome, tuple) or len(outcome) != 5:
            raise MisbehaviourError(
                f"returned {_kind(outcome)} from step instead of an observation, a reward, terminated, "
                "truncated and a dictionary"
            )
        self._check_observation(outcome[0])
        _check_reward(outcome[1])
        for ended in outcome[2:4]:
            if np.ndim(ended):
                raise MisbehaviourError(f"returned {ended!r} for whether its episode ended")
        self.busy = False
        return outcome

    def _check_observation(self, observed: Any) -> None:
        box = self._box
        if box is None:
            return
        if type(observed) is np.ndarray and observed.dtype is self._dtype:
            if observed.shape != box.shape:
                raise _wrong_shape(observed.shape, box.shape)
            return
        try:
            array = np.asarray(observed)
        except ValueError as error:
            raise MisbehaviourError(f"showed something that is no array ({error})") from error
        if array.shape != box.shape:
            raise _wrong_shape(array.shape, box.shape)
        if not np.can_cast(array.dtype, box.dtype, "same_kind"):
            raise MisbehaviourError(
                f"showed numbers of the type {array.dtype} where its space has {box.dtype}"
            )
        self._dtype = array.dtype


def _wrong_shape(shape: tuple[int, ...], due: tuple[int, ...]) -> MisbehaviourError:
    return MisbehaviourError(f"showed something of the shape {shape} where its space has {due}")


def _check_reward(reward: Any) -> None:
    try:
        float(reward)
    except (TypeError, ValueError) as error:
        raise MisbehaviourError(f"returned {_kind(reward)} for a reward") from error


def _kind(value: Any) -> str:
    many = f" of {len(value)}" if isinstance(value, tuple) else ""
    return f"a {type(value).__name__}{many}"
