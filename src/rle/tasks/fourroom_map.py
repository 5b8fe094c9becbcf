"""FourRoom drawn from above."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from rle.tasks.base import Picture

CELL_PIXELS = 8
AGENT_RADIUS = 6
"""In pixels: larger than a cell, or it is hard to see among 51 x 51."""

Cell = tuple[int, int]
Colour = tuple[int, int, int]
# From the colour-blind safe palette of Okabe and Ito, with greys for the building.
FLOOR: Colour = (246, 245, 241)
GRID: Colour = (232, 230, 224)
WALL: Colour = (58, 62, 70)
START: Colour = (86, 180, 233)
GOAL: Colour = (0, 158, 115)
TELEVISION: Colour = (204, 121, 167)
AGENT: Colour = (213, 94, 0)


def floor_plan(
    free: npt.NDArray[np.bool_], start: Cell, goal: Cell | None, television: Iterable[Cell]
) -> Picture:
    """Everything but the agent; `free` `[rows, columns]` says where there are no walls."""
    cells = np.empty((*free.shape, 3), np.uint8)
    cells[:] = FLOOR
    cells[~free] = WALL
    cells[start] = START
    for cell in television:
        cells[cell] = TELEVISION
    if goal is not None:
        cells[goal] = GOAL
    picture = cells.repeat(CELL_PIXELS, axis=0).repeat(CELL_PIXELS, axis=1)
    # A faint line along each floor cell's top and left edge makes single cells countable.
    floor = (picture == FLOOR).all(-1)
    rows, columns = (np.arange(size) % CELL_PIXELS == 0 for size in floor.shape)
    picture[floor & (rows[:, None] | columns[None, :])] = GRID
    return picture


def with_agent(plan: Picture, cell: Cell) -> Picture:
    """A copy of `plan` with the agent in `cell`."""
    picture = plan.copy()
    middle_y, middle_x = ((place + 0.5) * CELL_PIXELS for place in cell)
    rows, columns = (np.arange(size) + 0.5 for size in plan.shape[:2])
    distance = np.hypot(rows[:, None] - middle_y, columns[None, :] - middle_x)
    picture[distance <= AGENT_RADIUS] = AGENT
    return picture
