"""One PPO iteration's learning: from a rollout to advantages to gradient steps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from rle.checks import require
from rle.config import PPOConfig
from rle.core.returns import advantages
from rle.core.scaling import RewardScaler
from rle.core.transfer import moved
from rle.explore.base import Strategy, Stream
from rle.explore.transitions import Transitions
from rle.learn.adam import Adam
from rle.learn.base import Learner
from rle.learn.compilation import compiled
from rle.learn.loss import LossWeights, normalised, ppo_loss
from rle.learn.rollout import Rollout
from rle.nets.actor_critic import ActorCritic
from rle.nets.distributions import ActionDistribution
from rle.randomness import generator, generator_state, restore_generator
from rle.tasks.base import State


class Batch(NamedTuple):
    """A rollout, flattened to B = T · N transitions, with everything the loss needs."""

    observation: Tensor
    latent: Tensor | None
    """What the networks see of it."""
    action: Tensor
    log_probability: Tensor
    values: Tensor
    """`[B, K]`."""
    advantage: Tensor
    returns: Tensor
    """`[B, K]`."""
    mask: Tensor | None

    def select(self, index: Tensor) -> Batch:
        """The transitions that `index` names."""
        return Batch(*(None if part is None else part[index] for part in self))  # type: ignore[arg-type]


def _flat_gradient(loss: Tensor, parameters: Sequence[nn.Parameter]) -> Tensor:
    return torch.cat([part.reshape(-1) for part in torch.autograd.grad(loss, parameters)])


def _asked(strategy: Strategy, transitions: Transitions) -> Tensor:
    """The strategy's bonuses `[B, K]` of transitions that it then takes in."""
    bonus = strategy.bonus(transitions)
    expected = (len(transitions), len(strategy.streams))
    require(
        tuple(bonus.shape) == expected,
        f"{type(strategy).__name__} pays bonuses of the shape {tuple(bonus.shape)} for {expected[0]} "
        f"transitions and {expected[1]} streams: return one of the shape {expected}.",
    )
    strategy.observe(transitions)
    return bonus


STATISTICS = ("policy_loss", "entropy", "approximate_kl", "clip_fraction", "gradient_norm")


class PPO(Learner):
    """Learns policy and value of one or several reward streams from rollouts."""

    def __init__(
        self,
        network: ActorCritic,
        distribution: ActionDistribution,
        strategy: Strategy,
        config: PPOConfig,
        num_envs: int,
        seed: int,
        device: torch.device,
        compile: bool = False,
        micro_batch: int | None = None,
    ) -> None:
        self.network = network
        self.config = config
        self._strategy = strategy
        self.task_stream = Stream(
            "task",
            config.task_coefficient,
            config.discount,
            config.value_coefficient,
            config.scale_reward,
        )
        self.streams = (self.task_stream, *strategy.streams)
        """The task's, then the strategy's."""
        separate = [index for index, stream in enumerate(self.streams) if stream.separate]
        self._joined = [index for index, stream in enumerate(self.streams) if not stream.separate]
        heads = [self.streams[index] for index in separate]
        # A list would be copied to the device whenever it is used.
        self._separate = torch.tensor(separate, device=device)
        self._weights = LossWeights(
            config.clip,
            config.entropy_coefficient,
            tuple(stream.value_coefficient for stream in heads),
            config.clip_value_loss,
            config.normalise_advantages,
        )
        coefficients = [stream.coefficient for stream in heads]
        if self._joined:
            coefficients[0] = 1.0
        self._coefficients = torch.tensor(coefficients, device=device)
        self._discounts = torch.tensor([stream.discount for stream in heads], device=device)
        self._head_names = [stream.name for stream in heads]
        self._auxiliaries = strategy.trained()
        self._parts = [tuple(network.parameters())]
        """Parameters of the network, then of what each part of the strategy trains."""
        for part in self._auxiliaries:
            assert part.strategy.auxiliary is not None
            self._parts.append(tuple(part.strategy.auxiliary.parameters()))
        trained = tuple(parameter for part in self._parts for parameter in part)
        self.optimiser = Adam(
            trained, config.learning_rate, config.adam_epsilon, config.max_gradient_norm, compile
        )
        self._parameters = trained
        self._distribution = distribution
        self._scaler = RewardScaler(
            num_envs, torch.tensor([stream.discount for stream in self.streams], device=device)
        )
        self._scaled = torch.tensor([stream.scale for stream in self.streams], device=device)
        self._generator = generator(seed, "minibatches")
        whole = micro_batch is None
        self._micro_batch = micro_batch
        self._gradient: Callable[..., Any] = self._gradients if whole else self._gradients_in_parts
        self._evaluation: Callable[..., Any] = self._evaluate
        if compile:
            self._gradient = compiled(self._gradients, device) if whole else self._gradient
            self._evaluation = compiled(self._evaluate, device)

    @property
    def learning_rate(self) -> float:
        """Adam's step size."""
        return self.optimiser.learning_rate

    @learning_rate.setter
    def learning_rate(self, value: float) -> None:
        self.optimiser.learning_rate = value

    @property
    def parameters(self) -> Tensor:
        return self.optimiser.flat

    def improve(self, rollout: Rollout) -> dict[str, float]:
        batch, metrics = self.prepare(rollout, self._strategy)
        return metrics | self.update(batch, rollout, self._strategy)

    @torch.no_grad()
    def prepare(self, rollout: Rollout, strategy: Strategy) -> tuple[Batch, dict[str, float]]:
        """Bonuses, values, advantages and returns of a finished rollout."""
        bonus = rollout.bonus = self._bonus(rollout, strategy)
        task_reward = self.config.reward_scale * rollout.reward
        reward = torch.cat([task_reward[..., None], bonus], -1)
        ended = rollout.terminated | rollout.truncated
        cut = torch.cat([rollout.terminated[..., None], rollout.bonus_cut], -1)
        stop = torch.cat([ended[..., None], rollout.bonus_cut], -1)
        real = rollout.real
        scaled = torch.where(self._scaled, self._scaler(reward, stop, real), reward)
        if self.config.reward_clip is not None:
            scaled[..., 0].clamp_(-self.config.reward_clip, self.config.reward_clip)
        scaled, cut, stop = (
            self._join_streams(scaled),
            cut[..., self._separate],
            stop[..., self._separate],
        )

        latent = strategy.network_input(rollout.latent)
        values, log_probability = self._evaluation(
            rollout.observation, latent, rollout.values, rollout.policy_output, rollout.action
        )
        next_values = self._next_values(values, rollout, strategy)
        values = values[:-1]
        per_stream = advantages(
            scaled, values, next_values, cut, stop, self._discounts, self.config.gae_lambda, real
        )
        returns = per_stream + values
        advantage = (per_stream * self._coefficients).sum(-1)
        batch = Batch(
            rollout.observation[:-1].flatten(0, 1),
            None if latent is None else latent[:-1].flatten(0, 1),
            rollout.action.flatten(0, 1),
            log_probability.flatten(),
            values.flatten(0, 1),
            advantage.flatten(),
            returns.flatten(0, 1),
            None if real is None else real.flatten(),
        )
        return batch, self._describe(batch, reward.flatten(0, 1), per_stream.flatten(0, 1))

    def _evaluate(
        self,
        observation: Tensor,
        latent: Tensor | None,
        values: Tensor | None,
        policy_output: Tensor,
        action: Tensor,
    ) -> tuple[Tensor, Tensor]:
        """Values `[T + 1, N, K]` of all states, unless known, and log π `[T, N]` of all actions."""
        if values is None:
            values = self.network.value(observation, latent)
        return values, self._distribution.log_probability(policy_output, action)

    def _next_values(self, values: Tensor, rollout: Rollout, strategy: Strategy) -> Tensor:
        """Values `[T, N, K]` of the true next states, from those `[T + 1, N, K]` of the rows."""
        result = values[1:].clone()
        finals = rollout.finals()
        if finals is None:
            return result
        # A time limit is no termination: the task's value goes on from the true last observation,
        # under the latent the action was taken with.
        latent = strategy.network_input(rollout.latent[finals.row, finals.env])
        for part in self._pieces(torch.arange(len(finals.row), device=values.device)):
            of_finals = self.network.value(
                finals.observation[part], None if latent is None else latent[part]
            )
            result[finals.row[part], finals.env[part], 0] = of_finals[:, 0]
        return result

    def _pieces(self, index: Tensor) -> Sequence[Tensor]:
        """`index` in pieces that fit the cache, if micro-batches are asked for."""
        size = self._micro_batch
        return (index,) if size is None else index.split(size)

    def _bonus(self, rollout: Rollout, strategy: Strategy) -> Tensor:
        """Unscaled bonuses `[T, N, K]`; 0 in rows that are no transitions."""
        real = rollout.real
        paid = strategy.paid()
        if paid is not None:
            bonus = paid.flatten(0, 1)
            if real is not None:
                bonus = bonus * real.flatten()[:, None]
        elif not strategy.streams:
            bonus = rollout.reward.new_zeros(rollout.reward.numel(), 0)
        elif real is None and self._micro_batch is None:
            bonus = _asked(strategy, rollout.transitions())
        else:
            index = torch.arange(rollout.reward.numel(), device=rollout.reward.device)
            bonus = rollout.reward.new_zeros(len(index), len(strategy.streams))
            if real is not None:
                index = index[real.flatten()]
            for part in self._pieces(index):
                bonus[part] = _asked(strategy, rollout.transitions(part))
        strategy.after_rollout()
        return bonus.unflatten(0, rollout.reward.shape)

    def _join_streams(self, reward: Tensor) -> Tensor:
        """Add streams without a head of their own to the task's reward."""
        joined = reward[..., self._separate]
        if self._joined:
            # The head learns what it is told to maximise, so the weights go into the reward.
            joined[..., 0] *= self.task_stream.coefficient
        for index in self._joined:
            joined[..., 0] += self.streams[index].coefficient * reward[..., index]
        return joined

    def update(self, batch: Batch, rollout: Rollout, strategy: Strategy) -> dict[str, float]:
        """Make all gradient steps on a prepared batch."""
        config = self.config
        size = len(batch.advantage)
        totals: list[Tensor] = []
        # On the host, which has to know how many are real, and waits for that once.
        mask = batch.mask.cpu() if self._auxiliaries and batch.mask is not None else None
        for _ in range(config.epochs):
            order = torch.randperm(size, generator=self._generator).view(config.minibatches, -1)
            drawn = moved(order, batch.advantage.device)
            for own, index in zip(order.unbind(0), drawn.unbind(0), strict=True):
                kept = index if mask is None else moved(own[mask[own]], index.device)
                for_auxiliaries = self._for_auxiliaries(kept, len(index), rollout)
                gradient, statistics = self._gradient(batch, index, for_auxiliaries)
                norm = self.optimiser.step(gradient)
                totals.append(torch.cat([statistics, norm[None]]))
                strategy.after_minibatch(self.network)
        strategy.after_update(self.network)
        names = [f"value_loss_{name}" for name in self._head_names]
        names += list(STATISTICS)
        means = torch.stack(totals).mean(0).tolist()
        return dict(zip(names, means, strict=True))

    def _for_auxiliaries(
        self, real: Tensor, size: int, rollout: Rollout
    ) -> tuple[Transitions, ...]:
        """What each auxiliary module is trained on with a minibatch of `size`, `real` of it."""
        result = []
        for strategy, first, last in self._auxiliaries:
            transitions = rollout.transitions(strategy.auxiliary_rows(real, size))
            # Now, and not in the gradient's computation: that may be compiled.
            own = transitions.columns(first, last).gathered(strategy.auxiliary_fields)
            result.append(own)
        return tuple(result)

    def _gradients(
        self, batch: Batch, index: Tensor, for_auxiliaries: tuple[Transitions, ...]
    ) -> tuple[Tensor, Tensor]:
        """The loss's gradient `[P]` on one minibatch, and its statistics."""
        with torch.enable_grad():
            loss, statistics = self._loss(batch.select(index), self._weights)
            for part, transitions in zip(self._auxiliaries, for_auxiliaries, strict=True):
                loss = loss + part.strategy.auxiliary_loss(transitions)
            gradient = _flat_gradient(loss, self._parameters)
        return gradient, statistics

    def _gradients_in_parts(
        self, batch: Batch, index: Tensor, for_auxiliaries: tuple[Transitions, ...]
    ) -> tuple[Tensor, Tensor]:
        """The same in micro-batches.

        The minibatch keeps its meaning: advantages are normalised over all of it, and every part
        weighs as much as it has real transitions.
        """
        weights = self._weights._replace(normalise_advantages=False)
        advantage = batch.advantage[index]
        mask = None if batch.mask is None else batch.mask[index]
        if self._weights.normalise_advantages:
            advantage = normalised(advantage, mask)
        total = None if mask is None else mask.sum().clamp(min=1).double()
        gradient, statistics = torch.zeros_like(self.optimiser.flat), torch.zeros(())
        of_network, *of_auxiliaries = gradient.split(
            [sum(parameter.numel() for parameter in part) for part in self._parts]
        )
        for part in self._pieces(torch.arange(len(index), device=index.device)):
            share: float | Tensor = len(part) / len(index)
            if mask is not None and total is not None:
                # Divided in double precision, as numbers of the host would be, but without waiting.
                share = (mask[part].sum().double() / total).float()
            piece = batch.select(index[part])._replace(advantage=advantage[part])
            with torch.enable_grad():
                loss, of_piece = self._loss(piece, weights)
                of_network += _flat_gradient(share * loss, self._parts[0])
            statistics = statistics + share * of_piece
        for number, transitions in enumerate(for_auxiliaries):
            strategy = self._auxiliaries[number].strategy
            for seen in transitions.split(self._micro_batch):
                with torch.enable_grad():
                    loss = strategy.auxiliary_loss(seen) * (len(seen) / len(transitions))
                    of_auxiliaries[number] += _flat_gradient(loss, self._parts[1 + number])
        return gradient, statistics

    def _loss(self, batch: Batch, weights: LossWeights) -> tuple[Tensor, Tensor]:
        """The agent's loss on some transitions, and its statistics."""
        output, values = self.network(batch.observation, batch.latent)
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

    def _describe(self, batch: Batch, reward: Tensor, per_stream: Tensor) -> dict[str, float]:
        """Diagnostics of the streams: bonus size, value fit, share of the advantage."""
        returns, values = batch.returns, batch.values
        if batch.mask is not None:
            (real,) = batch.mask.nonzero(as_tuple=True)
            reward, per_stream, returns, values = (
                part[real] for part in (reward, per_stream, returns, values)
            )
        if len(reward) == 0:
            # A short rollout may have done nothing but reset its environments.
            return {}
        several = len(reward) > 1
        found: dict[str, Tensor] = {}
        for index, stream in enumerate(self.streams[1:], start=1):
            bonus = reward[:, index]
            found[f"bonus_{stream.name}_mean"] = bonus.mean()
            if several:
                found[f"bonus_{stream.name}_std"] = bonus.std()
            found[f"bonus_{stream.name}_min"] = bonus.min()
            found[f"bonus_{stream.name}_max"] = bonus.max()
        sizes = (per_stream * self._coefficients).abs().mean(0)
        residual = (returns - values).var(0) if several else torch.zeros_like(sizes)
        variance = returns.var(0) if several else torch.zeros_like(sizes)
        share = torch.where(sizes.sum() > 0, sizes / sizes.sum(), 0.0)
        unexplained = residual / variance
        for head, name in enumerate(self._head_names):
            found[f"advantage_share_{name}"] = share[head]
            found[f"explained_variance_{name}"] = unexplained[head]
        # All at once: the host waits for each number it asks for.
        numbers = torch.cat([torch.stack(list(found.values())), variance]).tolist()
        result = dict(zip(found, numbers, strict=False))
        for name, spread in zip(self._head_names, numbers[len(found) :], strict=True):
            key = f"explained_variance_{name}"
            left = result[key]
            if spread > 0:
                result[key] = 1 - left
            else:
                del result[key]
        return result

    def set_progress(self, fraction: float) -> None:
        """Tell how much of the run is done: anneals the learning rate, if asked to."""
        if self.config.anneal_learning_rate:
            self.learning_rate = self.config.learning_rate * (1 - fraction)

    def state_dict(self) -> State:
        return {
            "optimiser": self.optimiser.state_dict(),
            "scaler": self._scaler.state_dict(),
            "generator": generator_state(self._generator),
        }

    def load_state_dict(self, state: State) -> None:
        self.optimiser.load_state_dict(state["optimiser"])
        self._scaler.load_state_dict(state["scaler"])
        self._generator = restore_generator(state["generator"])
