"""Gymnasium's spaces as the learner sees them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from rle.errors import UsageError
from rle.tasks.base import ActionSpace, Continuous, Discrete, MultiDiscrete

_SUPPORTED = "Discrete, MultiDiscrete, MultiBinary and Box actions of real numbers are supported"


def action_space_of(task: str, space: spaces.Space[Any]) -> ActionSpace:
    """The learner's view of `space`; raises `UsageError` where there is none."""
    if isinstance(space, spaces.Discrete):
        return Discrete(int(space.n), int(space.start), str(space.dtype))
    if isinstance(space, spaces.MultiDiscrete):
        start = tuple(space.start.flatten().tolist()) if space.start.any() else None
        sizes = tuple(space.nvec.flatten().tolist())
        return MultiDiscrete(sizes, start, _shape(space), str(space.dtype))
    if isinstance(space, spaces.MultiBinary):
        sizes = (2,) * int(np.prod(space.shape))
        return MultiDiscrete(sizes, None, _shape(space), str(space.dtype))
    if isinstance(space, spaces.Box) and np.issubdtype(space.dtype, np.floating):
        low, high = (tuple(bound.flatten().tolist()) for bound in (space.low, space.high))
        return Continuous(low, high, _shape(space), str(space.dtype))
    raise UsageError(f"{task} has actions in {' '.join(str(space).split())}{_remedy(space)}")


def _shape(space: spaces.Space[Any]) -> tuple[int, ...] | None:
    """The shape of an action; None for a vector."""
    assert space.shape is not None
    return None if len(space.shape) == 1 else tuple(space.shape)


def _remedy(space: spaces.Space[Any]) -> str:
    """The end of the sentence that refuses a space: what is supported, and what to do."""
    if isinstance(space, spaces.Box):
        return (
            f", which are whole numbers: {_SUPPORTED}; declare them as MultiDiscrete, in the "
            "environment or in a gymnasium.ActionWrapper around it (wrappers)."
        )
    if isinstance(space, spaces.Dict | spaces.Tuple):
        return (
            f", which have several parts: {_SUPPORTED}; flatten them into one of these in the "
            "environment or in a gymnasium.ActionWrapper around it (wrappers)."
        )
    return f": {_SUPPORTED}."


def fit_as_it_is(space: spaces.Space[Any]) -> npt.NDArray[np.bool_]:
    """Which entries `[size]` of a flattened observation need no normalisation.

    What Gymnasium encodes as zeros and ones (Discrete, MultiBinary, ...) is no measurement, and what
    is declared to lie in [-1, 1] is centred and scaled: standardised by where the agent has been, one
    place would look another way whenever the agent gets further.
    """
    if isinstance(space, spaces.Box):
        return np.asarray((space.low == -1) & (space.high == 1)).flatten()
    parts: Sequence[spaces.Space[Any]] = ()
    if isinstance(space, spaces.Dict):
        parts = tuple(space.spaces.values())
    elif isinstance(space, spaces.Tuple):
        parts = space.spaces
    if parts:
        return np.concatenate([fit_as_it_is(part) for part in parts])
    return np.ones(spaces.flatdim(space), dtype=np.bool_)
