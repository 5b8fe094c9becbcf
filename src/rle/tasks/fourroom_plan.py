"""FourRoom's plan, without PyTorch: reports are drawn from it, and need not wait for PyTorch."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from rle.tasks.suites.fourroom import SUITE

SIZE = 51
WALL = 25
DOORS = ((25, 15), (25, 35), (20, 25), (30, 25))
START = (0, 50)
GOAL = (50, 0)
TELEVISION_SIZE = 2
TIME_LIMIT = 1000
VARIANTS = tuple(SUITE.tasks)


def free_cells() -> npt.NDArray[np.bool_]:
    """Bool `[51, 51]`: True where the agent can be (2504 cells)."""
    free = np.ones((SIZE, SIZE), dtype=bool)
    free[WALL, :] = False
    free[:, WALL] = False
    for row, column in DOORS:
        free[row, column] = True
    return free


def cell_index(row: int, column: int) -> int:
    """A cell's number, row by row."""
    return row * SIZE + column
