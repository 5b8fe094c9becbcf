"""Action distributions as plain functions of the policy's output.

For `Discrete(n)` the output is `[..., n]` logits; for `MultiDiscrete` it is the logits of all choices
side by side; for `Continuous` of k numbers it is `[..., 2k]`: means, then log-deviations. Randomness
comes in as `noise` drawn by the caller, so that a rollout's whole noise is one draw from one generator.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional

from rle.tasks.base import ActionSpace, Discrete, MultiDiscrete

NEVER = -1e9
"""The logit of what cannot be chosen: its probability is exactly 0, and 0 times its logarithm is too."""


class ActionDistribution(ABC):
    """The family of distributions over one action space."""

    output_size: int
    """Width of the policy's output."""
    head_size: int
    """How much of it depends on the state: what the policy's last layer computes."""
    noise_shape: tuple[int, ...]
    """Shape of one action's noise."""
    action_shape: tuple[int, ...]
    action_dtype: torch.dtype

    @abstractmethod
    def draw_noise(self, shape: tuple[int, ...], generator: torch.Generator) -> Tensor:
        """Noise `[*shape, *noise_shape]` for `sample`."""

    @abstractmethod
    def sample(self, output: Tensor, noise: Tensor) -> Tensor:
        """The actions `[..., *action_shape]` that `noise` selects."""

    @abstractmethod
    def mode(self, output: Tensor) -> Tensor:
        """The most likely actions."""

    @abstractmethod
    def log_probability(self, output: Tensor, action: Tensor) -> Tensor:
        """Log π(action), `[...]`."""

    @abstractmethod
    def entropy(self, output: Tensor) -> Tensor:
        """Entropy in nats, `[...]`."""

    @abstractmethod
    def divergence(self, first: Tensor, second: Tensor) -> Tensor:
        """KL(first ‖ second) in nats, `[...]`."""


class Categorical(ActionDistribution):
    """Softmax over logits, sampled by the Gumbel-max trick."""

    def __init__(self, num_actions: int) -> None:
        self.output_size = self.head_size = num_actions
        self.noise_shape = (num_actions,)
        self.action_shape = ()
        self.action_dtype = torch.int64

    def draw_noise(self, shape: tuple[int, ...], generator: torch.Generator) -> Tensor:
        return _gumbel((*shape, *self.noise_shape), generator)

    def sample(self, output: Tensor, noise: Tensor) -> Tensor:
        return (output + noise).argmax(-1)

    def mode(self, output: Tensor) -> Tensor:
        return output.argmax(-1)

    def log_probability(self, output: Tensor, action: Tensor) -> Tensor:
        return output.log_softmax(-1).gather(-1, action[..., None]).squeeze(-1)

    def entropy(self, output: Tensor) -> Tensor:
        log_probabilities = output.log_softmax(-1)
        return -(log_probabilities.exp() * log_probabilities).sum(-1)

    def divergence(self, first: Tensor, second: Tensor) -> Tensor:
        first, second = first.log_softmax(-1), second.log_softmax(-1)
        return (first.exp() * (first - second)).sum(-1)


class MultiCategorical(ActionDistribution):
    """Independent choices: a `Categorical` for each, and sums over them."""

    def __init__(self, sizes: Sequence[int]) -> None:
        self.output_size = self.head_size = sum(sizes)
        self.noise_shape = (self.output_size,)
        self.action_shape = (len(sizes),)
        self.action_dtype = torch.int64
        self._sizes = tuple(sizes)
        self._each = Categorical(max(sizes))

    def _rows(self, output: Tensor) -> Tensor:
        """One row of logits for each choice, `[..., choices, max(sizes)]`, filled up with `NEVER`."""
        width = self._each.output_size
        if min(self._sizes) == width:
            return output.unflatten(-1, (-1, width))
        rows = [
            functional.pad(logits, (0, width - size), value=NEVER)
            for logits, size in zip(output.split(self._sizes, -1), self._sizes, strict=True)
        ]
        return torch.stack(rows, -2)

    def draw_noise(self, shape: tuple[int, ...], generator: torch.Generator) -> Tensor:
        return _gumbel((*shape, *self.noise_shape), generator)

    def sample(self, output: Tensor, noise: Tensor) -> Tensor:
        return self.mode(output + noise)

    def mode(self, output: Tensor) -> Tensor:
        return self._each.mode(self._rows(output))

    def log_probability(self, output: Tensor, action: Tensor) -> Tensor:
        return self._each.log_probability(self._rows(output), action).sum(-1)

    def entropy(self, output: Tensor) -> Tensor:
        return self._each.entropy(self._rows(output)).sum(-1)

    def divergence(self, first: Tensor, second: Tensor) -> Tensor:
        return self._each.divergence(self._rows(first), self._rows(second)).sum(-1)


class DiagonalGaussian(ActionDistribution):
    """Independent normals; the log-deviations do not depend on the state (PPO detail)."""

    def __init__(self, size: int) -> None:
        self.output_size, self.head_size = 2 * size, size
        self.noise_shape = (size,)
        self.action_shape = (size,)
        self.action_dtype = torch.float32

    def draw_noise(self, shape: tuple[int, ...], generator: torch.Generator) -> Tensor:
        return torch.randn((*shape, *self.noise_shape), generator=generator)

    def sample(self, output: Tensor, noise: Tensor) -> Tensor:
        mean, log_std = output.chunk(2, -1)
        return mean + log_std.exp() * noise

    def mode(self, output: Tensor) -> Tensor:
        return output.chunk(2, -1)[0]

    def log_probability(self, output: Tensor, action: Tensor) -> Tensor:
        mean, log_std = output.chunk(2, -1)
        standard = (action - mean) / log_std.exp()
        return (-0.5 * standard.square() - log_std - 0.5 * math.log(2 * math.pi)).sum(-1)

    def entropy(self, output: Tensor) -> Tensor:
        _, log_std = output.chunk(2, -1)
        return (log_std + 0.5 * math.log(2 * math.pi * math.e)).sum(-1)

    def divergence(self, first: Tensor, second: Tensor) -> Tensor:
        mean, log_std = first.chunk(2, -1)
        other_mean, other_log_std = second.chunk(2, -1)
        ratio = (2 * (log_std - other_log_std)).exp()
        shift = ((mean - other_mean) / other_log_std.exp()).square()
        return (other_log_std - log_std + 0.5 * (ratio + shift - 1)).sum(-1)


def _gumbel(shape: tuple[int, ...], generator: torch.Generator) -> Tensor:
    # -log of a standard exponential is Gumbel; the clamp keeps an exact 0 from becoming infinite.
    exponential = torch.empty(shape).exponential_(generator=generator)
    return -exponential.clamp_(min=1e-20).log_()


def distribution_for(space: ActionSpace) -> ActionDistribution:
    """The distribution family of an action space."""
    if isinstance(space, Discrete):
        return Categorical(space.n)
    if isinstance(space, MultiDiscrete):
        return MultiCategorical(space.sizes)
    return DiagonalGaussian(space.size)
