"""Gymnasium's spaces as the learner sees them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from rle.errors import UsageError
from rle.tasks.base import ActionSpace, Continuous, Discrete


def action_space_of(task: str, space: spaces.Space[Any]) -> ActionSpace:
    """The learner's view of `space`; raises `UsageError` where there is none."""
    if isinstance(space, spaces.Discrete):
        return Discrete(int(space.n))
    if isinstance(space, spaces.Box) and np.issubdtype(space.dtype, np.floating):
        return Continuous(tuple(space.low.flatten().tolist()), tuple(space.high.flatten().tolist()))
    raise UsageError(
        f"{task} has actions in {' '.join(str(space).split())}: "
        f"Discrete actions and Box actions of real numbers are supported."
    )


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
