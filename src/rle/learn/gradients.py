"""The gradient of a minibatch: in one go, in micro-batches, or of the share that this rank has."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from rle.explore.base import Trained
from rle.explore.transitions import Transitions
from rle.learn.batch import Batch, Everyone, pieces
from rle.learn.compilation import compiled
from rle.learn.loss import LossWeights, normalised, ppo_loss
from rle.learn.rollout import Rollout
from rle.nets.actor_critic import ActorCritic
from rle.nets.distributions import ActionDistribution
from rle.world import World

SPREAD = 6.0
"""In deviations: how much larger than on average a rank's share of a minibatch may be without a graph
of its own being compiled for it."""
OTHER_TERMS = 4
"""Statistics of a loss besides those of the value heads."""
PADDED_TO = 16
"""Sizes of compiled shares are multiples of this."""


def _flat_gradient(loss: Tensor, parameters: Sequence[nn.Parameter]) -> Tensor:
    return torch.cat([part.reshape(-1) for part in torch.autograd.grad(loss, parameters)])


class Gradients:
    """Computes gradients of the agent's loss and of what its strategy trains beside it."""

    def __init__(
        self,
        network: ActorCritic,
        distribution: ActionDistribution,
        weights: LossWeights,
        auxiliaries: tuple[Trained, ...],
        compile: bool,
        micro_batch: int | None,
        world: World,
    ) -> None:
        self._network, self._distribution, self._weights = network, distribution, weights
        self._auxiliaries = auxiliaries
        self._micro_batch, self._world = micro_batch, world
        self._parts = [tuple(network.parameters())]
        """Parameters of the network, then of what each part of the strategy trains."""
        for part in auxiliaries:
            assert part.strategy.auxiliary is not None
            self._parts.append(tuple(part.strategy.auxiliary.parameters()))
        self.parameters = tuple(parameter for part in self._parts for parameter in part)
        """All that is trained, in the gradient's order."""
        self._in_one_go = world.alone and micro_batch is None
        # Micro-batches are of images, whose convolutions gain nothing by being compiled.
        self._compile = compile and micro_batch is None
        self._whole: Callable[..., Any] = self._gradient_of_whole
        self._share: Callable[..., Any] = self._gradient_of_share
        if self._compile:
            device = self.parameters[0].device
            self._whole = compiled(self._gradient_of_whole, device)
            self._share = compiled(self._gradient_of_share, device)

    def __call__(
        self, batch: Batch, everyone: Everyone, index: Tensor, real: Tensor, rollout: Rollout
    ) -> tuple[Tensor, Tensor]:
        """The loss's gradient `[P]` on one minibatch of everyone's transitions, and its statistics.

        Args:
            batch: the transitions made here.
            everyone: what is known of all.
            index: which of everyone's make up the minibatch, flat t · N + n, `[b]`.
            real: those of them that are real; only auxiliary modules ask for it.
            rollout: what happened here, for the strategy.

        """
        rows = self._rows_of_auxiliaries(real, len(index))
        if self._in_one_go:
            seen = tuple(
                self._seen(number, own, rollout).gathered(self._fields(number))
                for number, own in enumerate(rows)
            )
            gradient, statistics = self._whole(batch, index, seen)
            return gradient, statistics
        gradient, statistics = self._in_parts(batch, everyone, index, rows, rollout)
        # One message for both.
        together = self._world.sum(torch.cat([gradient, statistics]))
        return together[: len(gradient)], together[len(gradient) :]

    def _rows_of_auxiliaries(self, real: Tensor, size: int) -> list[Tensor]:
        """What each auxiliary module is trained on with a minibatch of `size`, `real` of it."""
        return [part.strategy.auxiliary_rows(real, size) for part in self._auxiliaries]

    def _seen(self, number: int, rows: Tensor, rollout: Rollout) -> Transitions:
        """The transitions `rows` of this rank's rollout as an auxiliary module's strategy sees them."""
        _, first, last = self._auxiliaries[number]
        return rollout.transitions(rows).columns(first, last)

    def _fields(self, number: int) -> tuple[str, ...]:
        # Gathered before the gradient is computed: that may be compiled.
        return self._auxiliaries[number].strategy.auxiliary_fields

    def _gradient_of_whole(
        self, batch: Batch, index: Tensor, for_auxiliaries: tuple[Transitions, ...]
    ) -> tuple[Tensor, Tensor]:
        """Everything at once."""
        with torch.enable_grad():
            loss, statistics = self._loss(batch.select(index), self._weights)
            for part, transitions in zip(self._auxiliaries, for_auxiliaries, strict=True):
                loss = loss + part.strategy.auxiliary_loss(transitions)
            gradient = _flat_gradient(loss, self.parameters)
        return gradient, statistics

    def _in_parts(
        self,
        batch: Batch,
        everyone: Everyone,
        index: Tensor,
        rows: list[Tensor],
        rollout: Rollout,
    ) -> tuple[Tensor, Tensor]:
        """This rank's share of the gradient, in micro-batches if they are asked for.

        The minibatch keeps its meaning: advantages are normalised over all of it, and every part
        weighs as much as it has real transitions.
        """
        advantage = everyone.advantage[index]
        mask = None if everyone.mask is None else everyone.mask[index]
        if self._weights.normalise_advantages:
            advantage = normalised(advantage, mask)
        total = None if mask is None else mask.sum().clamp(min=1).double()
        places, here = self._world.rows(index)
        advantage, mask = advantage[places], None if mask is None else mask[places]
        sizes = [sum(parameter.numel() for parameter in part) for part in self._parts]
        gradient = torch.zeros(sum(sizes), device=advantage.device)
        heads = batch.values.shape[1]
        statistics = torch.zeros(heads + OTHER_TERMS, device=advantage.device)
        of_network, *of_auxiliaries = gradient.split(sizes)
        for part in pieces(torch.arange(len(here), device=index.device), self._micro_batch):
            if len(part) == 0:
                continue
            share = torch.full((), len(part) / len(index), device=advantage.device)
            if mask is not None and total is not None:
                # Divided in double precision, as numbers of the host would be, but without waiting.
                share = (mask[part].sum().double() / total).float()
            piece = batch.select(here[part])._replace(advantage=advantage[part])
            of_piece, measured = self._share(self._padded(piece, len(index)), share)
            of_network += of_piece
            statistics = statistics + share * measured
        for number, everybodys in enumerate(rows):
            _, own = self._world.rows(everybodys)
            self._add_auxiliary(of_auxiliaries[number], number, own, len(everybodys), rollout)
        return gradient, statistics

    def _add_auxiliary(
        self, gradient: Tensor, number: int, rows: Tensor, total: int, rollout: Rollout
    ) -> None:
        """Add this rank's share of an auxiliary module's gradient, that of its `rows` of `total`."""
        if len(rows) == 0:
            return
        transitions = self._seen(number, rows, rollout).gathered(self._fields(number))
        strategy = self._auxiliaries[number].strategy
        for seen in transitions.split(self._micro_batch or len(rows)):
            with torch.enable_grad():
                loss = strategy.auxiliary_loss(seen) * (len(seen) / total)
                gradient += _flat_gradient(loss, self._parts[1 + number])

    def _gradient_of_share(self, piece: Batch, share: Tensor) -> tuple[Tensor, Tensor]:
        """Of some transitions whose advantages are normalised already, as much as they weigh."""
        weights = self._weights._replace(normalise_advantages=False)
        with torch.enable_grad():
            loss, statistics = self._loss(piece, weights)
            gradient = _flat_gradient(share * loss, self._parts[0])
        return gradient, statistics

    def _padded(self, piece: Batch, minibatch: int) -> Batch:
        """The same with transitions that do not count, to the size that a graph was compiled for.

        How many of a minibatch's transitions were made on a rank is left to chance.
        """
        if not self._compile:
            return piece
        chance = 1 / self._world.size
        spread = SPREAD * (minibatch * chance * (1 - chance)) ** 0.5
        size = min(minibatch, round(minibatch * chance + spread))
        missing = max(-(-size // PADDED_TO) * PADDED_TO, len(piece.advantage)) - len(
            piece.advantage
        )
        padding = torch.zeros(missing, dtype=torch.int64, device=piece.advantage.device)
        index = torch.cat([torch.arange(len(piece.advantage), device=padding.device), padding])
        counts = torch.ones(len(index), dtype=torch.bool, device=padding.device)
        counts[len(piece.advantage) :] = False
        padded = piece.select(index)
        return padded._replace(mask=counts if padded.mask is None else padded.mask & counts)

    def _loss(self, batch: Batch, weights: LossWeights) -> tuple[Tensor, Tensor]:
        """The agent's loss on some transitions, and its statistics."""
        observation = batch.observation
        assert isinstance(observation, Tensor)  # What was selected is.
        output, values = self._network(observation, batch.latent)
        loss, terms = ppo_loss(
            self._distribution.log_probability(output, batch.action),
            self._distribution.entropy(output),
            values,
            batch.log_probability,
            batch.values,
            batch.advantage,
            batch.returns,
            weights,
            batch.mask,
        )
        statistics = torch.stack(
            [terms.policy, terms.entropy, terms.approximate_kl, terms.clip_fraction]
        )
        return loss, torch.cat([terms.value, statistics])
