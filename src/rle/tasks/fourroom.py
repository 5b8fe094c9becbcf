"""FourRoom as tensors: thousands of grid worlds at once, on any device.

51 x 51 cells, a wall along row 25 and one along column 25, four doors of one cell. The agent starts
in the top right corner and sees its centred coordinates. Three tasks: reward-free, a sparse goal in
the bottom left corner, and a noisy television that shows random coordinates.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from rle.core.transfer import moved
from rle.errors import UsageError
from rle.randomness import generator, generator_state, restore_generator
from rle.tasks import fourroom_plan, grid
from rle.tasks.base import Discrete, Picture, State, Step, Task, TaskSpec
from rle.tasks.form import require_form
from rle.tasks.fourroom_map import floor_plan, with_agent
from rle.tasks.fourroom_plan import (
    GOAL,
    SIZE,
    START,
    TELEVISION_SIZE,
    TIME_LIMIT,
    cell_index,
)

NUM_ACTIONS = len(grid.MOVES)


def free_cells() -> Tensor:
    """Bool `[51, 51]`: True where the agent can be (2504 cells)."""
    return torch.from_numpy(fourroom_plan.free_cells())


def transition_table() -> Tensor:
    """int64 `[51 * 51, 4]`: the cell each move leads to; into a wall or off the grid stays put."""
    return grid.transition_table(free_cells())


def coordinates() -> Tensor:
    """float32 `[51 * 51, 2]`: (x, y) of every cell, centred to [-1, 1], y pointing up."""
    return grid.coordinates(SIZE)


def television_cells(corner: tuple[int, int]) -> Tensor:
    """Bool `[51 * 51]`: the 2 x 2 square whose top left cell is `corner`."""
    row, column = corner
    square = torch.zeros(SIZE, SIZE, dtype=torch.bool)
    square[row : row + TELEVISION_SIZE, column : column + TELEVISION_SIZE] = True
    inside = row >= 0 and column >= 0 and int(square.sum()) == TELEVISION_SIZE**2
    if not inside or not bool(free_cells()[square].all()) or bool(square[START]):
        raise UsageError(
            f"the television at {corner} does not lie on free cells away from the start: "
            f"give the top left cell (row, column) of a free 2 x 2 square."
        )
    return square.reshape(-1)


class FourRoom(Task):
    """One of the three FourRoom tasks, with exact visitation counts."""

    traceable = True
    steps_per_second = 30
    splits = True
    per_environment = ("position", "clock")
    summed = ("visits",)

    def __init__(
        self,
        variant: str,
        num_envs: int,
        time_limit: int = TIME_LIMIT,
        television: tuple[int, int] = (12, 37),
        device: str | torch.device = "cpu",
    ) -> None:
        self.spec = TaskSpec(num_envs, (2,), torch.float32, Discrete(NUM_ACTIONS))
        self.time_limit = time_limit
        self.has_goal = variant == "fourroom-sparse"
        self._device = torch.device(device)
        # Cells are kept multiplied by the number of actions: table[position + action] is then one
        # addition and one look-up, and these steps are most of a rollout's time.
        table = transition_table() * NUM_ACTIONS
        self._table = table.reshape(-1).to(self._device)
        self._view = coordinates().repeat_interleave(NUM_ACTIONS, dim=0).to(self._device)
        self._start = cell_index(*START) * NUM_ACTIONS
        self._goal = cell_index(*GOAL) * NUM_ACTIONS
        self._television: Tensor | None = None
        if variant == "fourroom-noisytv":
            squares = television_cells(television).repeat_interleave(NUM_ACTIONS)
            self._television = squares.to(self._device)
        self._start_view = self._view[self._start]
        self._never = torch.zeros(num_envs, dtype=torch.bool, device=self._device)
        self._no_reward = torch.zeros(num_envs, device=self._device)
        self._free = free_cells().reshape(-1)
        # Indexed by such positions too; only every fourth entry is ever used. Whole numbers up to 2^53,
        # which compiled code counts several times as fast as int64's.
        self._visits = torch.zeros(len(self._table), dtype=torch.float64, device=self._device)
        self._one = torch.ones(num_envs, dtype=torch.float64, device=self._device)
        self._generator = generator(0, "environment")
        self._noise = torch.zeros(0)
        self._time = 0
        self._position = torch.zeros(num_envs, dtype=torch.int64, device=self._device)
        self._clock = torch.zeros(num_envs, dtype=torch.int64, device=self._device)

    def reset(self, seed: int) -> Tensor:
        self._generator = generator(seed, "environment")
        self._position = torch.full_like(self._position, self._start)
        self._clock = torch.zeros_like(self._clock)
        self._visits.zero_()
        # The start is not in the television, so its view needs no noise.
        return self._start_view.repeat(self.spec.num_envs, 1)

    def draw(self, steps: int) -> None:
        self._time = 0
        if self._television is not None:
            everywhere = self.world.all_of(self.spec.num_envs)
            noise = torch.rand(steps, everywhere, 2, generator=self._generator)
            self._noise = moved(2 * self.world.part(noise, 1) - 1, self._device)

    def step(self, action: Tensor) -> Step:
        # No branch depends on data: the loop around this may be compiled as a whole.
        position = self._table.index_select(0, self._position + action)
        clock = self._clock + 1
        self._visits.index_add_(0, position, self._one)
        next_observation = self._view.index_select(0, position)
        if self._television is not None:
            if self._time >= len(self._noise):
                self.draw(1)
            inside = self._television.index_select(0, position)[:, None]
            next_observation = torch.where(inside, self._noise[self._time], next_observation)
            self._time += 1
        truncated = clock >= self.time_limit
        if self.has_goal:
            terminated = position == self._goal
            truncated = truncated & ~terminated
            ended = terminated | truncated
            reward = terminated.to(torch.float32)
        else:
            terminated, ended, reward = self._never, truncated, self._no_reward
        self._position = torch.where(ended, self._start, position)
        self._clock = torch.where(ended, 0, clock)
        observation = torch.where(ended[:, None], self._start_view, next_observation)
        return Step(reward, terminated, truncated, next_observation, observation)

    def visits(self) -> Tensor:
        """int64 `[51 * 51]`: how often each cell was entered since `reset`, on all devices."""
        return self.world.sum(self._visits[::NUM_ACTIONS].long()).cpu()

    def measures(self) -> dict[str, float]:
        """Share of free cells visited, and entropy of the visits in nats (at most ln 2504)."""
        counts = self.visits()[self._free].double()
        share = counts / counts.sum().clamp(min=1)
        return {
            "coverage": float((counts > 0).double().mean()),
            "visitation_entropy": float(-torch.xlogy(share, share).sum()) if counts.any() else 0.0,
            "visitation_entropy_max": math.log(len(counts)),
        }

    def artefacts(self) -> dict[str, Tensor]:
        return {"visits": self.visits().reshape(SIZE, SIZE).clone()}

    def picture(self) -> Picture:
        squares: list[int] = []
        if self._television is not None:
            squares = self._television[::NUM_ACTIONS].nonzero().flatten().tolist()
        plan = floor_plan(
            fourroom_plan.free_cells(),
            START,
            GOAL if self.has_goal else None,
            (divmod(cell, SIZE) for cell in squares),
        )
        return with_agent(plan, divmod(int(self._position[0]) // NUM_ACTIONS, SIZE))

    def state_dict(self) -> State:
        return {
            "position": self._position,
            "clock": self._clock,
            "visits": self._visits.long(),
            "generator": generator_state(self._generator),
        }

    def load_state_dict(self, state: State) -> None:
        require_form(self.state_dict(), state)
        self._position = state["position"].to(self._device)
        self._clock = state["clock"].to(self._device)
        self._visits.copy_(state["visits"])
        self._generator = restore_generator(state["generator"])
