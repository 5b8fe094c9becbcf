"""What a learner is: it improves an agent by what the agent has just lived through."""

from __future__ import annotations

from typing import Protocol

from torch import Tensor

from rle.learn.rollout import Rollout
from rle.tasks.base import State


class Learner(Protocol):
    """Changes the parameters of an agent's networks and of what its strategy trains beside them.

    The parameters belong to the agent; a learner's own state is what it needs besides to go on.
    """

    learning_rate: float
    """Of the coming update: a schedule may change it between iterations."""

    @property
    def parameters(self) -> Tensor:
        """`[P]`, everything that is learned."""

    def set_progress(self, fraction: float) -> None:
        """Tell how much of the run is done, before each iteration."""

    def improve(self, rollout: Rollout) -> dict[str, float]:
        """Learn from a rollout, and fill in its bonuses; returns what was measured."""

    def state_dict(self) -> State:
        """All that is needed to go on exactly from here, but for the parameters."""

    def load_state_dict(self, state: State) -> None:
        """Go on from a state of `state_dict`; the parameters are loaded already."""
