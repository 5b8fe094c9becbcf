"""FourRoom as ordinary Gymnasium environments, for agents that are not this package's own."""

from __future__ import annotations

from functools import cache
from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from rle.tasks import fourroom, fourroom_plan
from rle.tasks.fourroom_map import floor_plan, with_agent


@cache
def _tables() -> tuple[list[list[int]], npt.NDArray[np.float32]]:
    """Tabulate the cell each move leads to and every cell's coordinates, once for all environments.

    The first is a plain list: looking up one element of an array costs several times as much.
    """
    return fourroom.transition_table().tolist(), fourroom.coordinates().numpy()


class FourRoomEnv(gymnasium.Env[npt.NDArray[np.float32], np.int64]):
    """One FourRoom; the same world as `rle.tasks.fourroom.FourRoom`, one step at a time.

    Observations are float32 `[2]`, centred coordinates (x, y) in [-1, 1]; `info["cell"]` is the
    true (row, column), in the television too. Actions are left, right, up, down. With `goal`, the
    bottom left corner gives reward 1 and ends the episode; `television` is the top left cell of a
    2 x 2 square where observations are random. `render_mode="rgb_array"` gives 408 x 408 pictures.
    """

    metadata = {"render_modes": ["rgb_array"], "render_fps": 30}  # noqa: RUF012

    def __init__(
        self,
        goal: bool = False,
        television: tuple[int, int] | None = None,
        render_mode: str | None = None,
    ) -> None:
        self.observation_space = spaces.Box(-1.0, 1.0, (2,), np.float32)
        self.action_space = spaces.Discrete(fourroom.NUM_ACTIONS)
        self.render_mode = render_mode
        self._moves, self._view = _tables()
        self._start = fourroom_plan.cell_index(*fourroom_plan.START)
        self._goal = fourroom_plan.cell_index(*fourroom_plan.GOAL) if goal else None
        self._television: frozenset[int] = frozenset()
        if television is not None:
            squares = fourroom.television_cells((television[0], television[1]))
            self._television = frozenset(squares.nonzero().flatten().tolist())
        self._cell = self._start
        self._plan: npt.NDArray[np.uint8] | None = None

    def reset(
        self,
        *,
        seed: int | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[npt.NDArray[np.float32], dict[str, Any]]:
        super().reset(seed=seed)
        self._cell = self._start
        return self._observe(), self._info()

    def step(
        self, action: np.int64
    ) -> tuple[npt.NDArray[np.float32], float, bool, bool, dict[str, Any]]:
        self._cell = self._moves[self._cell][action]
        reached = self._cell == self._goal
        return self._observe(), float(reached), reached, False, self._info()

    def _observe(self) -> npt.NDArray[np.float32]:
        if self._cell in self._television:
            return self.np_random.uniform(-1.0, 1.0, 2).astype(np.float32)
        view: npt.NDArray[np.float32] = self._view[self._cell].copy()
        return view

    def _info(self) -> dict[str, Any]:
        return {"cell": divmod(self._cell, fourroom_plan.SIZE)}

    def render(self) -> npt.NDArray[np.uint8] | None:
        """uint8 `[408, 408, 3]`, or None without a render mode."""
        if self.render_mode is None:
            return None
        if self._plan is None:
            television = (divmod(cell, fourroom_plan.SIZE) for cell in self._television)
            goal = None if self._goal is None else fourroom_plan.GOAL
            self._plan = floor_plan(
                fourroom_plan.free_cells(), fourroom_plan.START, goal, television
            )
        return with_agent(self._plan, divmod(self._cell, fourroom_plan.SIZE))
