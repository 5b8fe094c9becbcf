"""Policy and value networks: what an agent learns."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor, nn

from rle.config import Activation, NetworkConfig
from rle.core.features import initialise
from rle.nets.distributions import distribution_for
from rle.nets.fused import fused_mlp
from rle.nets.layers import MLP, LinearFactory, apply_heads, join, side_by_side
from rle.renamed import read_renamed_parameters
from rle.tasks.base import ActionSpace, Continuous, TaskSpec

ENCODER_GAIN = 0.1
"""Of the latent encoder's last layer, as in the published scripts."""


class PlainLayers(NamedTuple):
    """A policy and a value network that are MLPs of the same inputs.

    Layers that see the same, as the heads of the values do, are given together.
    """

    policy: list[list[nn.Linear]]
    value: list[list[nn.Linear]]
    activation: Activation
    """Of all layers but the last."""


class ActorCritic(nn.Module, ABC):
    """A policy and the values of one or several reward streams, given the strategy's latent input.

    Value outputs are `[..., streams]`: the task's return first, then one per bonus stream.
    """

    value_body: nn.Module
    """The value network without its heads, or the part of it before z joins: what RLE's φ follows."""
    beside_latent: Mapping[str, int] = {}
    """Of every weight matrix that the latent input is concatenated for: how many of its columns, the
    first ones, see something else."""
    reads_ones = False
    """Whether observations that are a few ones among zeros may be given as where the ones are."""
    fused = False
    """Whether the layers are computed in C++ of our own where nothing is learned from them."""
    log_std: nn.Parameter | None
    """`[size]`, where actions are continuous: it does not depend on the state (PPO detail)."""

    def __init__(self, space: ActionSpace, config: NetworkConfig) -> None:
        super().__init__()
        self.register_load_state_dict_pre_hook(read_renamed_parameters)
        self.log_std = None
        if isinstance(space, Continuous):
            start = torch.full((space.size,), math.log(config.initial_action_std))
            self.log_std = nn.Parameter(start)

    def _with_std(self, output: Tensor) -> Tensor:
        """What the policy's last layer computed, and what it leaves to `log_std`."""
        if self.log_std is None:
            return output
        return torch.cat([output, self.log_std.expand_as(output)], -1)

    @abstractmethod
    def policy(self, observation: Tensor, latent: Tensor | None) -> Tensor:
        """The action distribution's parameters `[..., K]`."""

    @abstractmethod
    def value(self, observation: Tensor, latent: Tensor | None) -> Tensor:
        """Values `[..., streams]`."""

    def forward(self, observation: Tensor, latent: Tensor | None) -> tuple[Tensor, Tensor]:
        """Both."""
        return self.policy(observation, latent), self.value(observation, latent)

    def plain_layers(self) -> PlainLayers | None:
        """The layers, if nothing else computes anything here."""
        return None

    def act(self, observation: Tensor, latent: Tensor | None) -> tuple[Tensor, Tensor | None]:
        """The policy's output, and the values if they come for free with it."""
        return self.policy(observation, latent), None


class VectorActorCritic(ActorCritic):
    """Separate policy and value MLPs; the strategy's latent input is concatenated.

    The policy sees it beside the observation. So does the value network, unless it has a backbone: then
    the backbone sees the observation alone, and the latent joins what comes out of it.
    """

    def __init__(
        self,
        spec: TaskSpec,
        config: NetworkConfig,
        latent_inputs: int,
        streams: int,
        generator: torch.Generator,
        linear: LinearFactory = nn.Linear,
    ) -> None:
        super().__init__(spec.action_space, config)
        outputs = distribution_for(spec.action_space).head_size
        (observation_size,) = spec.observation_shape
        encoded = latent_inputs and config.latent_encoder
        latent_width = config.latent_encoder[-1] if encoded else latent_inputs
        inputs = observation_size + latent_width
        self.policy_body = MLP(inputs, config.policy_hidden, config.activation, generator)
        self.policy_head = initialise(linear(self.policy_body.width, outputs), 0.01, generator)
        split = config.value_backbone
        before, after = config.value_hidden[:split], config.value_hidden[split:]
        self.value_body = value_body = MLP(
            observation_size if split else inputs, before or after, config.activation, generator
        )
        self.value_tail = (
            MLP(self.value_body.width + latent_width, after, config.activation, generator)
            if split
            else None
        )
        width = self.value_body.width if self.value_tail is None else self.value_tail.width
        # One layer per stream rather than one wide layer: a stream more leaves the others' bits alone.
        self.value_heads = nn.ModuleList(
            initialise(linear(width, 1), config.value_gain, generator) for _ in range(streams)
        )
        self.latent_encoder = (
            LatentEncoder(latent_inputs, config.latent_encoder, config.activation, generator)
            if encoded
            else None
        )
        self.reads_ones = bool(config.policy_hidden and (before or after))
        alike = not split and config.policy_hidden == config.value_hidden
        self._bodies = (self.policy_body, value_body)
        self._alike = self._bodies if alike else None
        """Both bodies, if they are of one shape and see the same."""
        joins = "value_tail" if split else "value_body"
        self.beside_latent = {
            **_first_weights(
                "policy_body", config.policy_hidden, ["policy_head"], observation_size
            ),
            **_first_weights(
                joins,
                after,
                [f"value_heads.{index}" for index in range(streams)],
                self.value_body.width if split else observation_size,
            ),
        }

    def plain_layers(self) -> PlainLayers | None:
        heads: list[Any] = [self.policy_head, *self.value_heads]
        plain = all(type(head) is nn.Linear for head in heads)
        if not plain or self.value_tail is not None or self.latent_encoder is not None:
            return None
        policy, value = ([[layer] for layer in body.linears] for body in self._bodies)
        activation = self.policy_body.activation
        return PlainLayers([*policy, heads[:1]], [*value, heads[1:]], activation)

    def policy(self, observation: Tensor, latent: Tensor | None) -> Tensor:
        return self._policy(observation, self._encode(latent))

    def value(self, observation: Tensor, latent: Tensor | None) -> Tensor:
        return self._value(observation, self._encode(latent))

    def forward(self, observation: Tensor, latent: Tensor | None) -> tuple[Tensor, Tensor]:
        encoded = self._encode(latent)
        if self._alike and observation.ndim == 2 and torch.compiler.is_compiling():
            of_policy, of_value = side_by_side(*self._alike, observation, encoded)
            return self._policy_of(of_policy), self._values_of(of_value)
        return self._policy(observation, encoded), self._value(observation, encoded)

    def _encode(self, latent: Tensor | None) -> Tensor | None:
        if latent is None or self.latent_encoder is None:
            return latent
        return self.latent_encoder(latent)

    def _in_one_go(
        self, network: Literal["policy", "value"], observation: Tensor, latent: Tensor | None
    ) -> Tensor | None:
        """What the layers of one of the networks make of it, if our own C++ is to compute that."""
        if not self.fused or torch.is_grad_enabled() or not observation.is_floating_point():
            return None
        plain = self.plain_layers()
        assert plain is not None
        layers = plain.policy if network == "policy" else plain.value
        return fused_mlp(join(observation, latent), layers, plain.activation)

    def _policy(self, observation: Tensor, encoded: Tensor | None) -> Tensor:
        made = self._in_one_go("policy", observation, encoded)
        if made is not None:
            return self._with_std(made)
        return self._policy_of(self.policy_body(observation, encoded))

    def _policy_of(self, hidden: Tensor) -> Tensor:
        return self._with_std(apply_heads(hidden, [self.policy_head]))

    def _value(self, observation: Tensor, encoded: Tensor | None) -> Tensor:
        made = self._in_one_go("value", observation, encoded)
        if made is not None:
            return made
        if self.value_tail is None:
            hidden = self.value_body(observation, encoded)
        else:
            hidden = self.value_tail(self.value_body(observation), encoded)
        return self._values_of(hidden)

    def _values_of(self, hidden: Tensor) -> Tensor:
        return apply_heads(hidden, list(self.value_heads))


class LatentEncoder(MLP):
    """`[..., L] -> [..., sizes[-1]]`; the last layer starts small: z disturbs little at first."""

    def __init__(
        self,
        inputs: int,
        sizes: tuple[int, ...],
        activation: Activation,
        generator: torch.Generator,
    ) -> None:
        super().__init__(inputs, sizes, activation, generator)
        initialise(self.linears[-1], ENCODER_GAIN, generator)


def _first_weights(
    body: str, hidden: tuple[int, ...], heads: list[str], columns: int
) -> dict[str, int]:
    """The weights of a body's first layer, or of the heads on a body without layers."""
    layers = [f"{body}.layers.0"] if hidden else heads
    return {f"{layer}.weight": columns for layer in layers}
