"""Several strategies at once, each with its own stream, coefficient and random numbers."""

from __future__ import annotations

import itertools
from collections.abc import Mapping

import torch
from torch import Tensor, nn

from rle.errors import UsageError
from rle.explore.base import Strategy, Trained
from rle.explore.rle import RandomLatentExploration
from rle.explore.transitions import Transitions
from rle.nets.actor_critic import ActorCritic
from rle.tasks.base import State, Step
from rle.world import World


class Mixture(Strategy):
    """Lays the parts' latents, inputs and streams side by side, in the order they are given."""

    def __init__(self, parts: Mapping[str, Strategy]) -> None:
        self.parts = dict(parts)
        everyone = self.parts.values()
        self.streams = tuple(stream for part in everyone for stream in part.streams)
        self.latent_size = sum(part.latent_size for part in everyone)
        self.input_size = sum(part.input_size for part in everyone)
        self.whole = any(part.whole for part in everyone)
        self.warmup_rollouts = max(part.warmup_rollouts for part in everyone)
        modules = [part.auxiliary for part in everyone if part.auxiliary is not None]
        self.auxiliary = nn.ModuleList(modules) if modules else None
        self.splits = all(part.splits for part in everyone)
        self.per_environment = tuple(
            f"{name}/{branch}" for name, part in parts.items() for branch in part.per_environment
        )
        self._noisy = self._only("linear", "give the networks layers of their own")
        self._acting = self._only("action", "choose the action")
        self._refuse_double_names()
        self._split: tuple[Transitions, list[Transitions]] | None = None
        """What was asked about last, as each part sees it: the same object, so that parts remember."""

    def _only(self, method: str, does: str) -> Strategy | None:
        """The one part with a `method` of its own."""
        found = {
            name: part
            for name, part in self.parts.items()
            if getattr(type(part), method) is not getattr(Strategy, method)
        }
        if len(found) > 1:
            raise UsageError(
                f"{' and '.join(found)} both {does}, which a mixture cannot combine: leave one out."
            )
        return next(iter(found.values()), None)

    def _refuse_double_names(self) -> None:
        names = [stream.name for stream in self.streams]
        double = next((name for name in names if names.count(name) > 1), None)
        if double is not None:
            raise UsageError(
                f"two parts of the mixture {'+'.join(self.parts)} pay a bonus called {double!r}: give "
                "the streams different names."
            )
        idle = next((name for name, part in self.parts.items() if not part.learns), None)
        if idle is not None:
            raise UsageError(
                f"{idle} learns nothing, which a mixture cannot combine with strategies that do: "
                "train it by itself."
            )

    def _latents_of_parts(self, latent: Tensor | None) -> list[Tensor | None]:
        if latent is None:
            return [None] * len(self.parts)
        return list(latent.split([part.latent_size for part in self.parts.values()], -1))

    def _columns(self) -> list[tuple[int, int]]:
        """First and last + 1 of each part's columns of the latent."""
        last = list(itertools.accumulate(part.latent_size for part in self.parts.values()))
        return list(zip([0, *last[:-1]], last, strict=True))

    def _transitions_of_parts(self, transitions: Transitions) -> list[Transitions]:
        if self._split is None or self._split[0] is not transitions:
            self._split = (
                transitions,
                [transitions.columns(first, last) for first, last in self._columns()],
            )
        return self._split[1]

    def linear(self, inputs: int, outputs: int) -> nn.Linear:
        part = self._noisy
        return super().linear(inputs, outputs) if part is None else part.linear(inputs, outputs)

    def action(self, chosen: Tensor) -> Tensor:
        return chosen if self._acting is None else self._acting.action(chosen)

    def join(self, world: World) -> None:
        super().join(world)
        for part in self.parts.values():
            part.join(world)

    def start(self, network: ActorCritic) -> None:
        for part in self.parts.values():
            part.start(network)

    def begin_rollout(self, network: ActorCritic) -> None:
        for part in self.parts.values():
            part.begin_rollout(network)

    def draw(self, steps: int) -> None:
        for part in self.parts.values():
            part.draw(steps)

    def take(self, first: int, steps: int) -> None:
        for part in self.parts.values():
            part.take(first, steps)

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

    def bonus(self, transitions: Transitions) -> Tensor:
        pairs = zip(self.parts.values(), self._transitions_of_parts(transitions), strict=True)
        return torch.cat([part.bonus(own) for part, own in pairs if part.streams], -1)

    def observe(self, transitions: Transitions) -> None:
        pairs = zip(self.parts.values(), self._transitions_of_parts(transitions), strict=True)
        for part, own in pairs:
            if part.streams:
                part.observe(own)
        self._split = None

    def warm_up(self, rollout: int, transitions: Transitions) -> None:
        for part in self.parts.values():
            # Each part sees as many rollouts as it would alone.
            if rollout < part.warmup_rollouts:
                part.warm_up(rollout, transitions)

    def after_rollout(self) -> None:
        for part in self.parts.values():
            part.after_rollout()

    def bonus_weights(self) -> Tensor | None:
        counted = [(part, part.bonus_weights()) for part in self.parts.values()]
        known = next((weights for _, weights in counted if weights is not None), None)
        if known is None:
            return None
        return torch.cat(
            [
                known.new_ones(len(part.streams)) if weights is None else weights
                for part, weights in counted
            ]
        )

    def weighed(self, sizes: Tensor) -> None:
        streams = [len(part.streams) for part in self.parts.values()]
        of_task, of_parts = sizes[:1], sizes[1:].split(streams)
        for part, own in zip(self.parts.values(), of_parts, strict=True):
            part.weighed(torch.cat([of_task, own]))

    def trained(self) -> tuple[Trained, ...]:
        pairs = zip(self.parts.values(), self._columns(), strict=True)
        return tuple(
            Trained(part, first, last)
            for part, (first, last) in pairs
            if part.auxiliary is not None
        )

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
        found: dict[str, float] = {}
        for name, part in self.parts.items():
            measured = part.metrics()
            double = next((key for key in measured if key in found), None)
            if double is not None:
                raise UsageError(
                    f"{name} measures {double!r}, and so does another part of the mixture: give its "
                    "metrics names of their own."
                )
            found |= measured
        return found

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
