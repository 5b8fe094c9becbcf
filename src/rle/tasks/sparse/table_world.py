"""Worlds of numbered states as tensors: everything that can happen stands in tables."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from rle.tasks.base import Discrete, Picture, State, Step, Task, TaskSpec
from rle.tasks.form import require_form
from rle.tasks.fourroom_map import floor_plan, with_agent
from rle.tasks.grid import Cell


@dataclass(frozen=True, eq=False)
class Rules:
    """The tables of a world with S states and A actions."""

    moves: Tensor
    """int64 `[S, A]`: the state that follows."""
    reward: Tensor
    """float32 `[S, A]`."""
    success: Tensor
    """bool `[S, A]`: where the episode succeeds, which happens once in it at most."""
    over: Tensor
    """bool `[S]`: states that end an episode."""
    view: Tensor
    """float32 `[S, size]`: what is observed."""
    free: Tensor
    """bool `[rows, columns]`: the floor plan; states count its cells row by row."""
    goal: Cell
    time_limit: int
    """Steps of an episode."""


class TableWorld(Task):
    """N copies of a deterministic world in which every episode begins in state 0.

    The score of an episode is its success: 1 or 0.
    """

    traceable = True
    splits = True
    per_environment = ("state", "clock")

    def __init__(
        self,
        rules: Rules,
        num_envs: int,
        time_limit: int | None = None,
        device: str | torch.device = "cpu",
    ) -> None:
        """`time_limit` takes the place of the rules' own."""
        self._actions = rules.moves.shape[1]
        size = rules.view.shape[1]
        discrete = Discrete(self._actions)
        self.spec = TaskSpec(num_envs, (size,), torch.float32, discrete, ones=_ones_in(rules))
        self.time_limit = rules.time_limit if time_limit is None else time_limit
        self.as_is = torch.ones(size, dtype=torch.bool)
        self._device = torch.device(device)
        self._rules = rules
        self._moves, self._reward = (
            table.reshape(-1).to(self._device) for table in (rules.moves, rules.reward)
        )
        self._success = rules.success.reshape(-1).float().to(self._device)
        self._over = rules.over.to(self._device)
        self._view = rules.view.to(self._device)
        self._state = torch.zeros(num_envs, dtype=torch.int64, device=self._device)
        self._clock = torch.zeros_like(self._state)

    def reset(self, seed: int) -> Tensor:
        self._state = torch.zeros_like(self._state)
        self._clock = torch.zeros_like(self._clock)
        return self._view.index_select(0, self._state)

    def step(self, action: Tensor) -> Step:
        # No branch depends on data: the loop around this may be compiled as a whole.
        taken = self._state * self._actions + action
        state = self._moves.index_select(0, taken)
        clock = self._clock + 1
        terminated = self._over.index_select(0, state)
        truncated = (clock >= self.time_limit) & ~terminated
        ended = terminated | truncated
        next_observation = self._view.index_select(0, state)
        self._state = torch.where(ended, 0, state)
        self._clock = torch.where(ended, 0, clock)
        return Step(
            self._reward.index_select(0, taken),
            terminated,
            truncated,
            next_observation,
            torch.where(ended[:, None], self._view[0], next_observation),
            score=self._success.index_select(0, taken),
        )

    def picture(self) -> Picture:
        free = self._rules.free.numpy()
        plan = floor_plan(free, (0, 0), self._rules.goal, ())
        return with_agent(plan, divmod(int(self._state[0]), free.shape[1]))

    def state_dict(self) -> State:
        return {"state": self._state, "clock": self._clock}

    def load_state_dict(self, state: State) -> None:
        require_form(self.state_dict(), state)
        self._state = state["state"].to(self._device)
        self._clock = state["clock"].to(self._device)


def _ones_in(rules: Rules) -> int | None:
    """How many ones there are among the zeros of what is shown of every state that is acted in."""
    shown = rules.view[_reached(rules) & ~rules.over]
    counts = shown.sum(1)
    alike = bool(((shown == 0) | (shown == 1)).all() and (counts == counts[0]).all())
    return int(counts[0]) if alike else None


def _reached(rules: Rules) -> Tensor:
    """The states that an episode can come to, bool `[S]`."""
    reached = torch.zeros(len(rules.moves), dtype=torch.bool)
    newly = torch.zeros(1, dtype=torch.int64)
    while len(newly):
        reached[newly] = True
        following = rules.moves[newly].unique()
        newly = following[~reached[following]]
    return reached
