"""Several strategies at once, each with its own stream, coefficient and random numbers."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor, nn

from rle.explore.base import Strategy
from rle.explore.rle import RandomLatentExploration
from rle.nets.actor_critic import ActorCritic
from rle.tasks.base import State, Step


class Mixture(Strategy):
    """Lays the parts' latents, inputs and streams side by side, in the order they are given."""

    def __init__(self, parts: Mapping[str, Strategy]) -> None:
        self.parts = dict(parts)
        everyone = self.parts.values()
        self.streams = tuple(stream for part in everyone for stream in part.streams)
        self.latent_size = sum(part.latent_size for part in everyone)
        self.input_size = sum(part.input_size for part in everyone)
        self.warmup_rollouts = max(part.warmup_rollouts for part in everyone)
        # Only one part can train something beside the agent; of today's strategies only RND does.
        self._trained = next((part for part in everyone if part.auxiliary is not None), None)
        self.auxiliary = None if self._trained is None else self._trained.auxiliary
        self._noisy = next(
            (part for part in everyone if type(part).linear is not Strategy.linear), None
        )

    def _latents_of_parts(self, latent: Tensor | None) -> list[Tensor | None]:
        if latent is None:
            return [None] * len(self.parts)
        return list(latent.split([part.latent_size for part in self.parts.values()], -1))

    def linear(self, inputs: int, outputs: int) -> nn.Linear:
        part = self._noisy
        return super().linear(inputs, outputs) if part is None else part.linear(inputs, outputs)

    def start(self, network: ActorCritic) -> None:
        for part in self.parts.values():
            part.start(network)

    def begin_rollout(self, network: ActorCritic) -> None:
        for part in self.parts.values():
            part.begin_rollout(network)

    def draw(self, steps: int) -> None:
        for part in self.parts.values():
            part.draw(steps)

    def latent(self) -> Tensor | None:
        return _joined([part.latent() for part in self.parts.values()])

    def network_input(self, latent: Tensor | None) -> Tensor | None:
        pairs = zip(self.parts.values(), self._latents_of_parts(latent), strict=True)
        return _joined([part.network_input(own) for part, own in pairs])

    def after_step(self, step: Step) -> Tensor | None:
        cuts = []
        for part in self.parts.values():
            cut = part.after_step(step)
            streams = len(part.streams)
            none = torch.zeros(
                len(step.reward), streams, dtype=torch.bool, device=step.reward.device
            )
            cuts.append(none if cut is None else cut[:, :streams])
        return torch.cat(cuts, -1)

    def bonus(self, next_observation: Tensor, latent: Tensor | None) -> Tensor:
        pairs = zip(self.parts.values(), self._latents_of_parts(latent), strict=True)
        bonuses = [part.bonus(next_observation, own) for part, own in pairs if part.streams]
        return torch.cat(bonuses, -1)

    def warm_up(self, rollout: int, next_observation: Tensor) -> None:
        for part in self.parts.values():
            # Each part sees as many rollouts as it would alone.
            if rollout < part.warmup_rollouts:
                part.warm_up(rollout, next_observation)

    def after_rollout(self) -> None:
        for part in self.parts.values():
            part.after_rollout()

    def auxiliary_rows(self, index: Tensor, size: int) -> Tensor:
        assert self._trained is not None
        return self._trained.auxiliary_rows(index, size)

    def auxiliary_loss(self, next_observation: Tensor) -> Tensor:
        assert self._trained is not None
        return self._trained.auxiliary_loss(next_observation)

    def after_minibatch(self, network: ActorCritic) -> None:
        for part in self.parts.values():
            part.after_minibatch(network)

    def after_update(self, network: ActorCritic) -> None:
        for part in self.parts.values():
            part.after_update(network)

    def serve(self, num_envs: int) -> None:
        for part in self.parts.values():
            part.serve(num_envs)

    def reseed(self, seed: int) -> None:
        for part in self.parts.values():
            part.reseed(seed)

    def evaluate(self, greedy: bool) -> None:
        for part in self.parts.values():
            part.evaluate(greedy)

    def metrics(self) -> dict[str, float]:
        return {
            name: value for part in self.parts.values() for name, value in part.metrics().items()
        }

    def state_dict(self) -> State:
        return {name: part.state_dict() for name, part in self.parts.items()}

    def load_state_dict(self, state: State) -> None:
        for name, part in self.parts.items():
            part.load_state_dict(state[name])


def latent_strategy(strategy: Strategy) -> RandomLatentExploration | None:
    """The part of a strategy that follows latents, if it has one."""
    parts = strategy.parts.values() if isinstance(strategy, Mixture) else [strategy]
    return next((part for part in parts if isinstance(part, RandomLatentExploration)), None)


def _joined(tensors: list[Tensor | None]) -> Tensor | None:
    present = [tensor for tensor in tensors if tensor is not None]
    return torch.cat(present, -1) if present else None
