"""Adam with global-norm clipping over one flat vector of parameters."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn

from rle.core.transfer import moved
from rle.nets.flat import flatten_parameters
from rle.tasks.base import State

BETAS = (0.9, 0.999)


def clipped_adam_step(
    flat: Tensor,
    gradient: Tensor,
    first: Tensor,
    second: Tensor,
    rates: Tensor,
    epsilon: float,
    max_norm: float,
) -> Tensor:
    """One Adam step (Kingma & Ba 2015) in place, on the gradient scaled to at most `max_norm`.

    Args:
        flat: parameters `[P]`, changed in place.
        gradient: `[P]`.
        first: running mean of the gradients `[P]`, changed in place.
        second: running mean of their squares `[P]`, changed in place.
        rates: `[2]`, learning rate / (1 - β1^t) and 1 / sqrt(1 - β2^t).

    Returns:
        The gradient's norm before clipping.

    """
    norm = gradient.norm()
    gradient = gradient * (max_norm / (norm + 1e-6)).clamp(max=1.0)
    first.lerp_(gradient, 1 - BETAS[0])
    second.mul_(BETAS[1]).addcmul_(gradient, gradient, value=1 - BETAS[1])
    flat.sub_(rates[0] * first / (second.sqrt() * rates[1] + epsilon))
    return norm


AdamStep = Callable[[Tensor, Tensor, Tensor, Tensor, Tensor, float, float], Tensor]
"""`clipped_adam_step`, or what computes the same."""


class Adam:
    """The state of `clipped_adam_step` for a list of parameters."""

    def __init__(
        self,
        parameters: Sequence[nn.Parameter],
        learning_rate: float,
        epsilon: float,
        max_norm: float,
        apply: AdamStep = clipped_adam_step,
    ) -> None:
        self.flat = flatten_parameters(parameters)
        self.learning_rate = learning_rate
        self._first = torch.zeros_like(self.flat)
        self._second = torch.zeros_like(self.flat)
        self._count = 0
        self._epsilon = epsilon
        self._max_norm = max_norm
        self._apply = apply

    def step(self, gradient: Tensor) -> Tensor:
        """Apply the gradient `[P]`; returns its norm."""
        self._count += 1
        # Computed here in double precision: they are scalars, and exact for any number of steps.
        rates = torch.tensor(
            [
                self.learning_rate / (1 - BETAS[0] ** self._count),
                1 / math.sqrt(1 - BETAS[1] ** self._count),
            ]
        )
        return self._apply(
            self.flat,
            gradient,
            self._first,
            self._second,
            moved(rates, self.flat.device),
            self._epsilon,
            self._max_norm,
        )

    def state_dict(self) -> State:
        return {"first": self._first, "second": self._second, "count": self._count}

    def load_state_dict(self, state: State) -> None:
        self._first.copy_(state["first"])
        self._second.copy_(state["second"])
        self._count = state["count"]
