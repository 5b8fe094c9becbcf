"""Policy and value networks: what an agent learns."""

from __future__ import annotations

from abc import ABC, abstractmethod

import torch
from torch import Tensor, nn

from rle.config import NetworkConfig
from rle.nets.distributions import distribution_for
from rle.nets.layers import MLP, LinearFactory, initialise
from rle.tasks.base import Continuous, TaskSpec


class ActorCritic(nn.Module, ABC):
    """A policy and the values of one or several reward streams, given the strategy's latent input.

    Value outputs are `[..., streams]`: the task's return first, then one per bonus stream.
    """

    value_body: nn.Module
    """The value network without its heads: what RLE's φ follows."""

    @abstractmethod
    def policy(self, observation: Tensor, latent: Tensor | None) -> Tensor:
        """The action distribution's parameters `[..., K]`."""

    @abstractmethod
    def value(self, observation: Tensor, latent: Tensor | None) -> Tensor:
        """Values `[..., streams]`."""

    def forward(self, observation: Tensor, latent: Tensor | None) -> tuple[Tensor, Tensor]:
        """Both."""
        return self.policy(observation, latent), self.value(observation, latent)

    def act(self, observation: Tensor, latent: Tensor | None) -> tuple[Tensor, Tensor | None]:
        """The policy's output, and the values if they come for free with it."""
        return self.policy(observation, latent), None


class VectorActorCritic(ActorCritic):
    """Separate policy and value MLPs; the strategy's latent input is concatenated to the observation."""

    def __init__(
        self,
        spec: TaskSpec,
        config: NetworkConfig,
        latent_inputs: int,
        streams: int,
        generator: torch.Generator,
        linear: LinearFactory = nn.Linear,
    ) -> None:
        super().__init__()
        distribution = distribution_for(spec.action_space)
        (observation_size,) = spec.observation_shape
        inputs = observation_size + latent_inputs
        self.policy_body = MLP(inputs, config.policy_hidden, config.activation, generator)
        continuous = isinstance(spec.action_space, Continuous)
        outputs = distribution.output_size // 2 if continuous else distribution.output_size
        self.policy_head = initialise(linear(self.policy_body.width, outputs), 0.01, generator)
        self.log_deviation = nn.Parameter(torch.zeros(outputs)) if continuous else None
        self.value_body = MLP(inputs, config.value_hidden, config.activation, generator)
        # One layer per stream rather than one wide layer: a stream more leaves the others' bits alone.
        self.value_heads = nn.ModuleList(
            initialise(linear(self.value_body.width, 1), 1.0, generator) for _ in range(streams)
        )

    def policy(self, observation: Tensor, latent: Tensor | None) -> Tensor:
        output = self.policy_head(self.policy_body(self._join(observation, latent)))
        if self.log_deviation is not None:
            output = torch.cat([output, self.log_deviation.expand_as(output)], -1)
        return output

    def value(self, observation: Tensor, latent: Tensor | None) -> Tensor:
        hidden = self.value_body(self._join(observation, latent))
        heads = [head(hidden) for head in self.value_heads]
        return torch.cat(heads, -1) if len(heads) > 1 else heads[0]

    @staticmethod
    def _join(observation: Tensor, latent: Tensor | None) -> Tensor:
        return observation if latent is None else torch.cat([observation, latent], -1)
