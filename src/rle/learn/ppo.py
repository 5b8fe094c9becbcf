"""One PPO iteration's learning: from a rollout to advantages to gradient steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from rle.checks import require
from rle.config import PPOConfig
from rle.core.returns import advantages
from rle.core.scaling import RewardScaler
from rle.core.transfer import moved
from rle.explore.base import Strategy, Stream
from rle.explore.transitions import Transitions
from rle.learn.adam import Adam, clipped_adam_step
from rle.learn.base import Learner
from rle.learn.batch import Batch, Everyone, pieces
from rle.learn.compilation import compiled
from rle.learn.frames import StackedFrames
from rle.learn.fused import fused_adam_step, fused_gradients
from rle.learn.gradients import Gradients
from rle.learn.loss import LossWeights
from rle.learn.rollout import Rollout
from rle.nets.actor_critic import ActorCritic
from rle.nets.distributions import ActionDistribution
from rle.nets.fused import available
from rle.nets.ones import places_of_ones
from rle.randomness import generator, generator_state, restore_generator
from rle.tasks.base import State
from rle.world import ALONE, World


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


def _sizes(per_stream: Tensor, weights: Tensor) -> Tensor:
    """How large each head's advantages `[B, K]` are in the policy's, `[K]`."""
    return (per_stream * weights).abs().mean(0)


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
        world: World = ALONE,
        ones: int | None = None,
        fused: bool = False,
    ) -> None:
        """With `ones`, the networks are shown where these are: observations are so many among zeros.

        Networks that are plain MLPs may be `fused`: computed in C++ of our own.
        """
        self.network = network
        self._ones = ones
        self._world = world
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
        weights = LossWeights(
            config.clip,
            config.entropy_coefficient,
            tuple(stream.value_coefficient for stream in heads),
            config.clip_value_loss,
            config.normalise_advantages,
        )
        self._heads = heads
        self._left = 1.0
        """How much of the run is."""
        self._coefficients = self._weigh_heads(device)
        self._discounts = torch.tensor([stream.discount for stream in heads], device=device)
        self._head_names = [stream.name for stream in heads]
        trained = strategy.trained()
        network.fused = fused and network.plain_layers() is not None and available(device)
        of_plain = None
        if micro_batch is None and world.alone:
            of_plain = fused_gradients(network, distribution, weights, trained, ones)
        self._gradients = of_plain or Gradients(
            network, distribution, weights, trained, compile, micro_batch, world
        )
        step = compiled(clipped_adam_step, device) if compile else clipped_adam_step
        self.optimiser = Adam(
            self._gradients.parameters,
            config.learning_rate,
            config.adam_epsilon,
            config.max_gradient_norm,
            fused_adam_step if of_plain else step,
        )
        self._distribution = distribution
        self._scaler = RewardScaler(
            num_envs, torch.tensor([stream.discount for stream in self.streams], device=device)
        )
        self._scaled = torch.tensor([stream.scale for stream in self.streams], device=device)
        self._generator = generator(seed, "minibatches")
        self._micro_batch = micro_batch
        self._evaluation: Callable[..., Any] = self._evaluate
        if compile:
            self._evaluation = compiled(self._evaluate, device)

    def _weigh_heads(self, device: torch.device) -> Tensor:
        """The weight of each head's advantage in the policy's, `[K]`."""
        weights = [self._weight(stream) for stream in self._heads]
        if self._joined:
            weights[0] = 1.0
        return torch.tensor(weights, device=device)

    def _weight(self, stream: Stream) -> float:
        return stream.coefficient * (self._left if stream.anneal else 1.0)

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
        batch, everyone, metrics = self.prepare(rollout, self._strategy)
        return metrics | self.update(batch, everyone, rollout, self._strategy)

    @torch.no_grad()
    def prepare(
        self, rollout: Rollout, strategy: Strategy
    ) -> tuple[Batch, Everyone, dict[str, float]]:
        """Bonuses, values, advantages and returns of a finished rollout."""
        bonus = rollout.bonus = self._bonus(rollout, strategy)
        task_reward = self.config.reward_scale * rollout.reward
        reward = torch.cat([task_reward[..., None], bonus], -1)
        ended = rollout.terminated | rollout.truncated
        cut = torch.cat([rollout.terminated[..., None], rollout.bonus_cut], -1)
        stop = torch.cat([ended[..., None], rollout.bonus_cut], -1)
        real, real_everywhere = rollout.real_among(self._world)
        pool = self._world.pool
        scaled = torch.where(self._scaled, self._scaler(reward, stop, real, pool), reward)
        if not self.config.enlarge_reward:
            larger = self._scaler.std()[0] < 1
            scaled[..., 0] = torch.where(larger, reward[..., 0], scaled[..., 0])
        if self.config.reward_clip is not None:
            scaled[..., 0].clamp_(-self.config.reward_clip, self.config.reward_clip)
        scaled, cut, stop = (
            self._join_streams(scaled),
            cut[..., self._separate],
            stop[..., self._separate],
        )

        latent = strategy.network_input(rollout.latent)
        known = rollout.values
        shown: Tensor | StackedFrames
        if self._ones is None:
            shown = rollout.flat_observation()
            to_value = None if known is not None else rollout.observation
        else:
            to_value = places_of_ones(rollout.observation, self._ones)
            shown = to_value.flatten(0, 1)
        values, log_probability = self._evaluation(
            to_value,
            latent,
            known,
            rollout.policy_output,
            rollout.action,
        )
        next_values = self._next_values(values, rollout, strategy)
        values = values[:-1]
        per_stream = advantages(
            scaled, values, next_values, cut, stop, self._discounts, self.config.gae_lambda, real
        )
        returns = per_stream + values
        told = self._world.gather_all([reward, per_stream, returns, values], 1)
        counted = self._counted(strategy)
        weights = self._coefficients * counted
        everyone = Everyone(
            (told[1] * weights).sum(-1).flatten(),
            None if real_everywhere is None else real_everywhere.flatten(),
        )
        sizes = torch.zeros(len(self.streams), device=scaled.device)
        sizes[self._separate] = _sizes(told[1].flatten(0, 1), self._coefficients)
        strategy.weighed(sizes)
        batch = Batch(
            shown,
            None if latent is None else latent[:-1].flatten(0, 1),
            rollout.action.flatten(0, 1),
            log_probability.flatten(),
            values.flatten(0, 1),
            (per_stream * weights).sum(-1).flatten(),
            # What counts less is learned less: nothing else that the network knows is to suffer for it.
            (per_stream * counted + values).flatten(0, 1),
            None if real is None else real.flatten(),
        )
        told = [part.flatten(0, 1) for part in told]
        return batch, everyone, self._describe(told, everyone.mask, weights)

    def _counted(self, strategy: Strategy) -> Tensor:
        """How much of each head's stream counts in this rollout, `[K]`: all of the task's."""
        of_bonuses = strategy.bonus_weights()
        if of_bonuses is None:
            return torch.ones_like(self._coefficients)
        return torch.cat([of_bonuses.new_ones(1), of_bonuses])[self._separate]

    def _evaluate(
        self,
        observation: Tensor | None,
        latent: Tensor | None,
        values: Tensor | None,
        policy_output: Tensor,
        action: Tensor,
    ) -> tuple[Tensor, Tensor]:
        """Values `[T + 1, N, K]` of all states, unless known, and log π `[T, N]` of all actions."""
        if values is None:
            assert observation is not None
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
        every = torch.arange(len(finals.row), device=values.device)
        for part in pieces(every, self._micro_batch):
            of_finals = self.network.value(
                finals.observation[part], None if latent is None else latent[part]
            )
            result[finals.row[part], finals.env[part], 0] = of_finals[:, 0]
        return result

    def _bonus(self, rollout: Rollout, strategy: Strategy) -> Tensor:
        """Unscaled bonuses `[T, N, K]`; 0 in rows that are no transitions."""
        real = rollout.real
        paid = strategy.paid()
        size = None if strategy.whole else self._micro_batch
        if paid is not None:
            bonus = paid.flatten(0, 1)
            if real is not None:
                bonus = bonus * real.flatten()[:, None]
        elif not strategy.streams:
            bonus = rollout.reward.new_zeros(rollout.reward.numel(), 0)
        elif real is None and size is None:
            bonus = _asked(strategy, rollout.transitions())
        else:
            index = torch.arange(rollout.reward.numel(), device=rollout.reward.device)
            bonus = rollout.reward.new_zeros(len(index), len(strategy.streams))
            if real is not None:
                index = index[real.flatten()]
            for part in pieces(index, size):
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
            joined[..., 0] += self._weight(self.streams[index]) * reward[..., index]
        return joined

    def update(
        self, batch: Batch, everyone: Everyone, rollout: Rollout, strategy: Strategy
    ) -> dict[str, float]:
        """Make all gradient steps on a prepared batch: minibatches are of everyone's transitions."""
        config = self.config
        size = len(everyone.advantage)
        totals: list[Tensor] = []
        # On the host, which has to know how many are real, and waits for that once.
        mask = everyone.mask if strategy.trained() else None
        mask = None if mask is None else mask.cpu()
        for _ in range(config.epochs):
            order = torch.randperm(size, generator=self._generator).view(config.minibatches, -1)
            drawn = moved(order, batch.advantage.device)
            for own, index in zip(order.unbind(0), drawn.unbind(0), strict=True):
                kept = index if mask is None else moved(own[mask[own]], index.device)
                gradient, statistics = self._gradients(batch, everyone, index, kept, rollout)
                norm = self.optimiser.step(gradient)
                totals.append(torch.cat([statistics, norm[None]]))
                strategy.after_minibatch(self.network)
        strategy.after_update(self.network)
        names = [f"value_loss_{name}" for name in self._head_names]
        names += list(STATISTICS)
        means = torch.stack(totals).mean(0).tolist()
        return dict(zip(names, means, strict=True))

    def _describe(
        self, told: list[Tensor], real: Tensor | None, weights: Tensor
    ) -> dict[str, float]:
        """Diagnostics of the streams: bonus size, value fit, share of the advantage.

        `told` are rewards, advantages, returns and values of everyone's transitions, each `[B, K]`;
        `weights` `[K]` are those of the advantages.
        """
        reward, per_stream, returns, values = told
        if real is not None:
            (kept,) = real.nonzero(as_tuple=True)
            reward, per_stream, returns, values = (part[kept] for part in told)
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
        sizes = _sizes(per_stream, weights)
        share = torch.where(sizes.sum() > 0, sizes / sizes.sum(), 0.0)
        residual = (returns - values).var(0) if several else torch.zeros_like(share)
        variance = returns.var(0) if several else torch.zeros_like(share)
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
        """Tell how much of the run is done: anneals what is to be annealed."""
        self._left = 1 - fraction
        if any(stream.anneal for stream in self._heads):
            self._coefficients = self._weigh_heads(self._coefficients.device)
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
