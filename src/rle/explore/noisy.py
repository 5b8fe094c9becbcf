"""NoisyNet (Fortunato et al., 2018): the agent explores by noise on its own weights.

The policy's last layer and the value heads are noisy. One noise sample per rollout is shared by all
environments and kept during that rollout's update, so that a rollout follows one perturbed policy.
"""

from __future__ import annotations

import torch
from torch import nn

from rle.config import NoisyConfig, RunConfig
from rle.explore.base import Strategy
from rle.nets.actor_critic import ActorCritic
from rle.nets.noisy import NoisyLinear
from rle.randomness import generator, generator_state, restore_generator
from rle.tasks.base import State, TaskSpec


class NoisyNet(Strategy):
    """Resamples the network's noise before every rollout."""

    splits = True

    def __init__(self, config: NoisyConfig, seed: int) -> None:
        self._config = config
        self._generator = generator(seed, "weight noise")
        self._silent = False

    def linear(self, inputs: int, outputs: int) -> nn.Linear:
        return NoisyLinear(inputs, outputs, self._config.initial_std)

    @torch.no_grad()
    def begin_rollout(self, network: ActorCritic) -> None:
        for layer in noisy_layers(network):
            if self._silent:
                layer.silence()
            else:
                layer.resample(self._generator)

    def evaluate(self, greedy: bool) -> None:
        self._silent = greedy

    def reseed(self, seed: int) -> None:
        self._generator = generator(seed, "weight noise")

    def after_update(self, network: ActorCritic) -> None:
        stds = [layer.weight_std.detach().abs().mean() for layer in noisy_layers(network)]
        self._mean_std = torch.stack(stds).mean()

    def metrics(self) -> dict[str, float]:
        return {"noisy_std": float(self._mean_std)}

    def state_dict(self) -> State:
        return {"generator": generator_state(self._generator)}

    def load_state_dict(self, state: State) -> None:
        self._generator = restore_generator(state["generator"])


def noisy_layers(network: ActorCritic) -> list[NoisyLinear]:
    """All noisy layers of a network, in order."""
    return [module for module in network.modules() if isinstance(module, NoisyLinear)]


def build_noisy(
    config: RunConfig, settings: NoisyConfig, spec: TaskSpec, device: torch.device
) -> NoisyNet:
    """NoisyNet as `config` asks for it."""
    return NoisyNet(settings, config.seed)
