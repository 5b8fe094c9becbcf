"""MiniGrid's view: what stands in each of 7 x 7 cells, as zeros and ones.

Chevalier-Boisvert et al., "Minigrid & Miniworld" (NeurIPS 2023). EnvPool shows the 7 x 7 cells before
the agent as three small numbers each, the kind of object, its colour and its state, which are names and
no amounts; the agent's direction; and 96 bytes of text, which nobody needs who is after the only goal
there is. Here each number is a one among zeros, the direction too, and the text is left out: the first
layer of every network that sees it, φ and RND's among them, is then an embedding of what stands in each
cell.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np
import torch
from gymnasium import spaces
from torch import Tensor

from rle.tasks.envpool import Layout
from rle.tasks.sparse.successes import SuccessTask
from rle.tasks.suite import Wanted
from rle.tasks.suites.sparse import Engine

SIDE = 7
KINDS, COLOURS, STATES = 11, 6, 3
"""How many there are: from unseen to agent, from red to grey, and open, closed or locked."""
DIRECTIONS = 4
SIZE = SIDE * SIDE * (KINDS + COLOURS + STATES) + DIRECTIONS


class SymbolicView(Layout):
    """float32 `[N, 984]`: of every cell its object, colour and state; then the direction."""

    ones = SIDE * SIDE * 3 + 1

    def __init__(self, env_id: str, space: spaces.Space[Any]) -> None:
        super().__init__(env_id, space, ("image", "direction"))
        self.shape = (SIZE,)
        cells = np.arange(SIDE * SIDE)[:, None]
        numbers = np.array([KINDS, COLOURS, STATES])
        before = np.cumsum([0, KINDS, COLOURS]) * SIDE * SIDE
        self._first = (before + cells * numbers).reshape(1, -1)
        """int64 `[1, 147]`: of each number of the image, where its zeros and ones begin."""

    def tensor(self, observed: Any) -> Tensor:
        """Observations of all environments, `[N, 984]`."""
        image = np.asarray(observed["image"])
        rows = np.arange(len(image))[:, None]
        shown = np.zeros((len(image), SIZE), dtype=np.float32)
        shown[rows, self._first + image.reshape(len(image), -1)] = 1
        shown[rows, SIZE - DIRECTIONS + np.asarray(observed["direction"]).reshape(-1, 1)] = 1
        return torch.from_numpy(shown)


class MiniGridTask(SuccessTask):
    """N of MiniGrid's worlds on EnvPool; an episode succeeds if it is rewarded."""

    def __init__(self, engine: Engine, wanted: Wanted) -> None:
        super().__init__(engine, wanted)
        self.as_is = torch.ones(SIZE, dtype=torch.bool)

    def _layout_of(self, space: spaces.Space[Any], observed: Collection[str]) -> Layout:
        return SymbolicView(self._env_id, space)
