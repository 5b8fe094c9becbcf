"""RLE on FourRoom as one XLA program: rollouts, bonuses, returns and gradient steps under one `jit`.

What makes it fast on a CPU: the networks' parameters are one vector, of which Adam is one loop; random
numbers of a rollout are drawn at once; values and bonuses are computed once per rollout, for all rows;
a minibatch is one gather of rows.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array, lax

from rle.config import RunConfig
from rle.runs.peers.jax_networks import dense, feature_sizes, network_sizes, unpacked
from rle.runs.peers.jax_numbers import Drawn, fresh_latents, gumbel
from rle.runs.peers.jax_returns import backward, discounted_sums, merged_moments
from rle.runs.peers.jax_worlds import Places, Worlds, step

BETAS = (0.9, 0.999)
EPSILON = 1e-8
NORM_EPSILON = 1e-6
"""Added to a gradient's norm before it is clipped, as PyTorch does."""
STEPS_AT_ONCE = 8
"""Of a rollout's loop, written out one after the other in the program."""
TASK, BONUS = 0, 1
"""The two streams of rewards."""


class Optimised(NamedTuple):
    """Parameters under Adam."""

    parameters: Array
    """Policy and value network, `[P]`."""
    first: Array
    """The running mean of gradients, `[P]`."""
    second: Array
    """The running mean of their squares, `[P]`."""
    updates: Array


class Followed(NamedTuple):
    """Where N environments are, and under which z."""

    places: Places
    latent: Array
    """`[N, d]`."""
    countdown: Array
    """Steps until the next z, `[N]`."""


class Training(NamedTuple):
    """All that changes from one iteration to the next, and φ."""

    optimised: Optimised
    followed: Followed
    features: Array
    """φ, frozen, as one vector."""
    carry: Array
    """Each environment's discounted sum of bonuses, `[N]`."""
    moments: Array
    """Count, mean and sum of squared distances of such sums, `[3]`."""
    visits: Array
    """How often each position was reached."""
    key: Array


class Rows(NamedTuple):
    """A rollout, each `[T, N, ...]`."""

    position: Array
    reached: Array
    latent: Array
    output: Array
    action: Array
    truncated: Array
    switched: Array


class Iteration:
    """One iteration as a function without side effects, for `jit`."""

    def __init__(self, config: RunConfig, worlds: Worlds) -> None:
        assert config.rle is not None
        self._rle, self._learner = config.rle, config.learner
        self._worlds = worlds
        self._rows = (config.learner.rollout_steps, config.environment.num_envs)
        self._sizes = network_sizes(config.network, config.rle.dimension)

    def __call__(self, training: Training, drawn: Drawn | None) -> tuple[Training, Array]:
        """The next state, and what was measured, averaged over gradient steps.

        Measured are the value losses of task and bonus, the policy's loss, the entropy, the approximate
        KL divergence and the gradient's norm, `[6]`. Without random numbers, it draws its own.
        """
        key, keys = training.key, None
        if drawn is None:
            key, of_noise, of_latents, of_orders = jax.random.split(training.key, 4)
            keys = jax.random.split(of_orders, self._learner.epochs)
            latents = fresh_latents(of_latents, (*self._rows, self._rle.dimension))
            drawn = Drawn(gumbel(of_noise, self._rows), latents, keys)
        followed, rollout = self._collect(training, drawn)
        bonus = self._bonus(training.features, rollout)
        carry, sums = discounted_sums(bonus, rollout.switched, training.carry, self._rle.discount)
        moments = merged_moments(training.moments, sums)
        scaled = bonus / jnp.sqrt(moments[2] / moments[0] + EPSILON)
        table = self._transitions(training, followed, rollout, scaled)

        def epoch(optimised: Optimised, given: Array) -> tuple[Optimised, Array]:
            order = given if keys is None else jax.random.permutation(given, len(table))
            parts = table[order].reshape(self._learner.minibatches, -1, table.shape[-1])
            return lax.scan(self._improved, optimised, parts)

        optimised, measured = lax.scan(epoch, training.optimised, drawn.orders)
        visits = training.visits.at[rollout.reached.reshape(-1)].add(1)
        after = Training(optimised, followed, training.features, carry, moments, visits, key)
        return after, measured.mean((0, 1))

    def _collect(self, training: Training, drawn: Drawn) -> tuple[Followed, Rows]:
        policy, _ = unpacked(training.optimised.parameters, self._sizes)

        def act(followed: Followed, noise: tuple[Array, Array]) -> tuple[Followed, Rows]:
            places, latent, countdown = followed
            output = dense(policy, self._seen(places.position, latent), jnp.tanh)
            action = jnp.argmax(output + noise[0], -1).astype(jnp.int32)
            after, reached, truncated = step(self._worlds, places, action)
            switched = truncated | (countdown <= 1)
            countdown = jnp.where(switched, self._rle.resample_every, countdown - 1)
            row = Rows(places.position, reached, latent, output, action, truncated, switched)
            latent = jnp.where(switched[:, None], noise[1], latent)
            return Followed(after, latent, countdown), row

        noise = (drawn.noise, drawn.latents)
        return lax.scan(act, training.followed, noise, unroll=STEPS_AT_ONCE)

    def _seen(self, position: Array, latent: Array) -> Array:
        return jnp.concatenate([self._worlds.view[position], latent], -1)

    def _bonus(self, features: Array, rollout: Rows) -> Array:
        """F = φ/‖φ‖·z of the states that were reached, `[T, N]`."""
        (phi,) = unpacked(features, feature_sizes(self._rle))
        described = dense(phi, self._worlds.view[rollout.reached], jax.nn.relu)
        norm = jnp.sqrt(jnp.square(described).sum(-1))
        return (described * rollout.latent).sum(-1) / (norm + EPSILON)

    def _transitions(
        self, training: Training, followed: Followed, rollout: Rows, bonus: Array
    ) -> Array:
        """One row per transition: seen, action, log π, advantage, the task's value, both returns."""
        learner = self._learner
        _, value = unpacked(training.optimised.parameters, self._sizes)
        seen = self._seen(rollout.position, rollout.latent)
        last = self._seen(followed.places.position, followed.latent)
        values = dense(value, jnp.concatenate([seen, last[None]]), jnp.tanh)
        values, following = values[:-1], values[1:]

        def true_next() -> Array:
            finals = dense(value, self._seen(rollout.reached, rollout.latent), jnp.tanh)
            kept = jnp.where(rollout.truncated, finals[..., TASK], following[..., TASK])
            return following.at[..., TASK].set(kept)

        # Seldom: the time is up for all at once.
        following = lax.cond(rollout.truncated.any(), true_next, lambda: following)
        rewards = jnp.stack([jnp.zeros_like(bonus), bonus], -1)
        cut = jnp.stack([jnp.zeros_like(rollout.switched), rollout.switched], -1)
        stop = jnp.stack([rollout.truncated, rollout.switched], -1)
        discounts = jnp.array([learner.discount, self._rle.discount])
        delta = rewards + discounts * following * ~cut - values
        advantages = backward(delta, discounts * learner.gae_lambda * ~stop)
        weights = jnp.array([learner.task_coefficient, self._rle.coefficient])
        columns = (
            seen,
            rollout.action[..., None].astype(jnp.float32),
            _of_action(jax.nn.log_softmax(rollout.output), rollout.action)[..., None],
            (advantages * weights).sum(-1, keepdims=True),
            values[..., TASK, None],
            advantages + values,
        )
        rows, num_envs = self._rows
        return jnp.concatenate(columns, -1).reshape(rows * num_envs, -1)

    def _improved(self, optimised: Optimised, part: Array) -> tuple[Optimised, Array]:
        """One step of Adam on a minibatch, its gradient clipped."""
        learner = self._learner
        parameters, first, second, updates = optimised
        (_, measured), gradient = jax.value_and_grad(self._loss, has_aux=True)(parameters, part)
        norm = jnp.sqrt(jnp.square(gradient).sum())
        shortened = jnp.minimum(1.0, learner.max_gradient_norm / (norm + NORM_EPSILON))
        gradient = gradient * shortened
        updates = updates + 1
        first = first + (gradient - first) * (1 - BETAS[0])
        second = second * BETAS[1] + jnp.square(gradient) * (1 - BETAS[1])
        rate = learner.learning_rate / (1 - BETAS[0] ** updates)
        scale = 1 / jnp.sqrt(1 - BETAS[1] ** updates)
        change = rate * first / (jnp.sqrt(second) * scale + learner.adam_epsilon)
        return Optimised(parameters - change, first, second, updates), jnp.append(measured, norm)

    def _loss(self, parameters: Array, part: Array) -> tuple[Array, Array]:
        learner, inputs = self._learner, self._sizes[0][0]
        seen, returns = part[:, :inputs], part[:, inputs + 4 :]
        action, old_log_probability, advantage, old_value = part[:, inputs : inputs + 4].T
        policy, value = unpacked(parameters, self._sizes)
        log_all = jax.nn.log_softmax(dense(policy, seen, jnp.tanh))
        values = dense(value, seen, jnp.tanh)
        entropy = -(jnp.exp(log_all) * log_all).sum(-1).mean()
        advantage = (advantage - advantage.mean()) / (advantage.std(ddof=1) + EPSILON)
        log_ratio = _of_action(log_all, action.astype(jnp.int32)) - old_log_probability
        ratio = jnp.exp(log_ratio)
        near = jnp.clip(ratio, 1 - learner.clip, 1 + learner.clip)
        policy_loss = jnp.maximum(-advantage * ratio, -advantage * near).mean()
        errors = jnp.square(values - returns)
        change = jnp.clip(values[:, TASK] - old_value, -learner.clip, learner.clip)
        clipped = jnp.square(old_value + change - returns[:, TASK])
        task_loss = 0.5 * jnp.maximum(errors[:, TASK], clipped).mean()
        bonus_loss = 0.5 * errors[:, BONUS].mean()
        divergence = (ratio - 1 - log_ratio).mean()
        loss = policy_loss - learner.entropy_coefficient * entropy
        loss += learner.value_coefficient * task_loss + self._rle.value_coefficient * bonus_loss
        return loss, jnp.stack([task_loss, bonus_loss, policy_loss, entropy, divergence])


def _of_action(log_all: Array, action: Array) -> Array:
    """The entries `[...]` of `[..., 4]` that belong to the actions; faster than a gather."""
    return jnp.where(action[..., None] == jnp.arange(log_all.shape[-1]), log_all, 0.0).sum(-1)
