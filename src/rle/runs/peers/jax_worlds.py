"""FourRoom without reward for the XLA program: many worlds, one step at a time."""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array

from rle.tasks.fourroom_plan import SIZE, START, TIME_LIMIT, cell_index, free_cells

MOVES = ((0, -1), (0, 1), (-1, 0), (1, 0))
"""Left, right, up, down."""


class Worlds(NamedTuple):
    """The plan. A position is a cell's number times the number of moves."""

    table: Array
    """int32: the position that each position and action, added up, leads to."""
    view: Array
    """float32 `[..., 2]`: the coordinates seen at each position, centred, y pointing up."""
    time_limit: int


class Places(NamedTuple):
    """Where N environments are."""

    position: Array
    clock: Array
    """Steps of the episodes under way."""


def make_worlds(time_limit: int | None) -> Worlds:
    """FourRoom's plan as tables."""
    free = free_cells()
    rows, columns = np.divmod(np.arange(SIZE * SIZE), SIZE)
    here = rows * SIZE + columns
    targets = []
    for down, right in MOVES:
        row, column = np.clip(rows + down, 0, SIZE - 1), np.clip(columns + right, 0, SIZE - 1)
        targets.append(np.where(free[row, column], row * SIZE + column, here))
    table = len(MOVES) * np.stack(targets, -1).reshape(-1)
    middle = (SIZE - 1) / 2
    seen = np.stack([columns / middle - 1, 1 - rows / middle], -1)
    view = seen.repeat(len(MOVES), axis=0)
    return Worlds(
        jnp.asarray(table, jnp.int32), jnp.asarray(view, jnp.float32), time_limit or TIME_LIMIT
    )


def at_start(num_envs: int) -> Places:
    """All in the corner where episodes begin."""
    position = jnp.full(num_envs, len(MOVES) * cell_index(*START), jnp.int32)
    return Places(position, jnp.zeros(num_envs, jnp.int32))


def step(worlds: Worlds, places: Places, action: Array) -> tuple[Places, Array, Array]:
    """Where all are next, the positions that were reached, and bool `[N]`: whose time was up."""
    reached = worlds.table[places.position + action]
    clock = places.clock + 1
    truncated = clock >= worlds.time_limit
    start = len(MOVES) * cell_index(*START)
    after = Places(jnp.where(truncated, start, reached), jnp.where(truncated, 0, clock))
    return after, reached, truncated
