"""PointMaze: a ball that is pushed through a maze to a goal it knows nothing of, as tensors.

A model of our own in the mazes and with the numbers of Gymnasium-Robotics' PointMaze (de Lazcano et al.
2023; the mazes are D4RL's, Fu et al. 2020): cells of 1 m; a ball of radius 0.1 m and of 4.19 kg, pushed
by up to 100 N along x and y, damped by 1 N s/m, its velocity clipped to 5 m/s along each axis; steps of
10 ms. In the open the ball moves as it does there. What differs: a wall stops the part of the velocity
that leads into it, without friction or bouncing; every episode begins at rest in the middle of the top
left free cell; the goal is the middle of the free cell that takes most cells to reach, always the same
and not observed; being within 0.45 m of it gives 1 and ends the episode.

Observed are x (to the right) and y (down) from the middle, in units of half the maze's width and height,
and the velocity in units of 5 m/s; all lie in [-1, 1].
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

import torch
from torch import Tensor

from rle.tasks.base import Continuous, Picture, State, Step, Task, TaskSpec
from rle.tasks.form import require_form
from rle.tasks.fourroom_map import floor_plan, with_agent
from rle.tasks.grid import Cell, farthest


class Layout(NamedTuple):
    """A maze: `#` is a wall."""

    rows: tuple[str, ...]
    time_limit: int

    def free(self) -> Tensor:
        """Bool `[rows, columns]`: True where there is no wall."""
        return torch.tensor([[cell != "#" for cell in row] for row in self.rows])


LAYOUTS: Mapping[str, Layout] = {
    "U": Layout(("#####", "#   #", "### #", "#   #", "#####"), 300),
    "Medium": Layout(
        (
            "########",
            "#  ##  #",
            "#  #   #",
            "##   ###",
            "#  #   #",
            "# #  # #",
            "#   #  #",
            "########",
        ),
        600,
    ),
    "Large": Layout(
        (
            "############",
            "#    #     #",
            "# ## # # # #",
            "#      #   #",
            "# #### ### #",
            "#  # #     #",
            "## # # # ###",
            "#  #   #   #",
            "############",
        ),
        800,
    ),
}
"""By name; the time limits are Gymnasium-Robotics', too."""

START: Cell = (1, 1)
RADIUS = 0.1
MASS = 1000 * 4 / 3 * math.pi * RADIUS**3
FORCE = 100.0
DAMPING = 1.0
FASTEST = 5.0
SECONDS = 0.01
NEAR = 0.45
"""Metres from the goal that count as there."""


class PointMaze(Task):
    """N balls in the maze called `name`; the score of an episode is its success: 1 or 0."""

    traceable = True
    splits = True
    per_environment = ("position", "velocity", "clock")
    steps_per_second = 1 / SECONDS

    def __init__(
        self,
        name: str,
        num_envs: int,
        time_limit: int | None = None,
        device: str | torch.device = "cpu",
    ) -> None:
        layout = LAYOUTS[name]
        self.time_limit = layout.time_limit if time_limit is None else time_limit
        self._device = torch.device(device)
        self._free = layout.free().to(self._device)
        rows, columns = self._free.shape
        self._goal_cell, self.shortest = farthest(self._free.cpu(), START)
        self._half = torch.tensor([columns / 2, rows / 2], device=self._device)
        self._start, self._goal = (
            torch.tensor([cell[1] + 0.5, cell[0] + 0.5], device=self._device)
            for cell in (START, self._goal_cell)
        )
        self.spec = TaskSpec(num_envs, (4,), torch.float32, Continuous((-1.0,) * 2, (1.0,) * 2))
        self.as_is = torch.ones(4, dtype=torch.bool)
        # Metres from the top left corner, x to the right and y down; metres per second.
        self._position = self._start.repeat(num_envs, 1)
        self._velocity = torch.zeros_like(self._position)
        self._clock = torch.zeros(num_envs, dtype=torch.int64, device=self._device)

    def reset(self, seed: int) -> Tensor:
        self._position = self._start.repeat(self.spec.num_envs, 1)
        self._velocity = torch.zeros_like(self._position)
        self._clock = torch.zeros_like(self._clock)
        return self._observe(self._position, self._velocity)

    def step(self, action: Tensor) -> Step:
        # No branch depends on data: the loop around this may be compiled as a whole.
        position, velocity = self._advance(action)
        clock = self._clock + 1
        terminated = (position - self._goal).norm(dim=1) <= NEAR
        truncated = (clock >= self.time_limit) & ~terminated
        ended = (terminated | truncated)[:, None]
        next_observation = self._observe(position, velocity)
        self._position = torch.where(ended, self._start, position)
        self._velocity = torch.where(ended, 0.0, velocity)
        self._clock = torch.where(ended[:, 0], 0, clock)
        return Step(
            terminated.float(),
            terminated,
            truncated,
            next_observation,
            self._observe(self._position, self._velocity),
        )

    def _advance(self, action: Tensor) -> tuple[Tensor, Tensor]:
        """Positions and velocities `[N, 2]` after one step."""
        force = FORCE * action.clamp(-1.0, 1.0)
        # With the damping of the new velocity, as MuJoCo integrates it.
        velocity = self._velocity.clamp(-FASTEST, FASTEST)
        velocity = (MASS * velocity + SECONDS * force) / (MASS + SECONDS * DAMPING)
        position = self._position
        # One axis after the other: along a wall the ball slides.
        for axis in (0, 1):
            position, velocity = self._moved(position, velocity, axis)
        return position, velocity

    def _moved(self, position: Tensor, velocity: Tensor, axis: int) -> tuple[Tensor, Tensor]:
        """The ball after it moved along `axis`, up to a wall; it moves much less than a cell."""
        speed = velocity[:, axis]
        here = position[:, axis]
        there = here + SECONDS * speed
        across = position[:, 1 - axis]
        # The cell that the ball's foremost point would be in, at either end of its width.
        ahead = (there + RADIUS * speed.sign()).floor().long()
        sides = [(across + side).floor().long() for side in (-RADIUS, RADIUS)]
        blocked = torch.zeros_like(speed, dtype=torch.bool)
        for side in sides:
            row, column = (side, ahead) if axis == 0 else (ahead, side)
            blocked = blocked | ~self._free[row, column]
        # A hair's breadth away, or rounding would put the ball into the wall.
        edge = torch.where(speed > 0, ahead - RADIUS, ahead + 1 + RADIUS) - 1e-4 * speed.sign()
        moved = torch.where(blocked, edge, there)
        speed = torch.where(blocked, 0.0, speed)
        this_axis = torch.arange(2, device=position.device) == axis
        return (
            torch.where(this_axis, moved[:, None], position),
            torch.where(this_axis, speed[:, None], velocity),
        )

    def _observe(self, position: Tensor, velocity: Tensor) -> Tensor:
        place = (position - self._half) / self._half
        return torch.cat([place, (velocity / FASTEST).clamp(-1.0, 1.0)], 1)

    def picture(self) -> Picture:
        plan = floor_plan(self._free.cpu().numpy(), START, self._goal_cell, ())
        column, row = self._position[0].floor().long().tolist()
        return with_agent(plan, (row, column))

    def state_dict(self) -> State:
        return {"position": self._position, "velocity": self._velocity, "clock": self._clock}

    def load_state_dict(self, state: State) -> None:
        require_form(self.state_dict(), state)
        self._position, self._velocity, self._clock = (
            state[name].to(self._device) for name in ("position", "velocity", "clock")
        )
