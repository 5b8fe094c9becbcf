"""Sums over time for the XLA program, and the moments they are scaled by."""

from __future__ import annotations

import jax.numpy as jnp
from jax import Array, lax

ROWS_AT_ONCE = 16
"""Of a loop over time, written out one after the other in the program."""


def discounted_sums(
    reward: Array, stop: Array, carry: Array, discount: float
) -> tuple[Array, Array]:
    """What the next rollout goes on from, `[N]`, and sums `[T, N]` of what was paid so far."""

    def go_on(before: Array, row: tuple[Array, Array]) -> tuple[Array, Array]:
        total = row[0] + discount * before
        return jnp.where(row[1], 0.0, total), total

    return lax.scan(go_on, carry, (reward, stop), unroll=ROWS_AT_ONCE)


def backward(delta: Array, weight: Array) -> Array:
    """A_t = δ_t + w_t A_{t+1} along the first dimension."""

    def go_back(later: Array, row: tuple[Array, Array]) -> tuple[Array, Array]:
        now = row[0] + row[1] * later
        return now, now

    start = jnp.zeros_like(delta[0])
    return lax.scan(go_back, start, (delta, weight), reverse=True, unroll=ROWS_AT_ONCE)[1]


def merged_moments(moments: Array, samples: Array) -> Array:
    """Count, mean and squared distances `[3]` of what was seen before and of `samples`."""
    count, mean, squares = moments
    total = count + samples.size
    new = samples.mean()
    shift, share = new - mean, samples.size / total
    squares = squares + jnp.square(samples - new).sum() + jnp.square(shift) * count * share
    return jnp.stack([total, mean + shift * share, squares])
