"""Action distributions as plain functions of the policy's output.

For `Discrete(n)` the output is `[..., n]` logits; for `Continuous(k)` it is `[..., 2k]`: means, then
log-deviations. Randomness comes in as `noise` drawn by the caller, so that a rollout's whole noise is
one draw from one generator.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod

import torch
from torch import Tensor

from rle.tasks.base import ActionSpace, Discrete


class ActionDistribution(ABC):
    """The family of distributions over one action space."""

    output_size: int
    """Width of the policy's output."""
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
        self.output_size = num_actions
        self.noise_shape = (num_actions,)
        self.action_shape = ()
        self.action_dtype = torch.int64

    def draw_noise(self, shape: tuple[int, ...], generator: torch.Generator) -> Tensor:
        # -log of a standard exponential is Gumbel; the clamp keeps an exact 0 from becoming infinite.
        exponential = torch.empty((*shape, *self.noise_shape)).exponential_(generator=generator)
        return -exponential.clamp_(min=1e-20).log_()

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


class DiagonalGaussian(ActionDistribution):
    """Independent normals; the log-deviations do not depend on the state (PPO detail)."""

    def __init__(self, size: int) -> None:
        self.output_size = 2 * size
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


def distribution_for(space: ActionSpace) -> ActionDistribution:
    """The distribution family of an action space."""
    if isinstance(space, Discrete):
        return Categorical(space.n)
    return DiagonalGaussian(space.size)
