"""Gymnasium's action spaces as the learner's."""

from __future__ import annotations

from typing import Any

import numpy as np
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
