"""The random numbers of an iteration: drawn by NumPy, or by the XLA program itself."""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from rle.config import RunConfig
from rle.runs.peers.jax_networks import MOVES

SMALLEST = 1e-20
"""Keeps an exact 0 from becoming infinite as a logarithm."""


class Drawn(NamedTuple):
    """What one iteration needs, or with one more dimension in front what several do."""

    noise: Array
    """Gumbel noise that selects actions, `[T, N, 4]`."""
    latents: Array
    """A new z for each step and environment, needed or not, `[T, N, d]`."""
    orders: Array
    """In which order each epoch takes the transitions, int32 `[epochs, T · N]`, or a key for each."""


def gumbel(key: Array, shape: tuple[int, ...]) -> Array:
    """Noise for every action."""
    return jax.random.gumbel(key, (*shape, MOVES))


def fresh_latents(key: Array, shape: tuple[int, ...]) -> Array:
    """Vectors on the unit sphere."""
    z = jax.random.normal(key, shape)
    return z / jnp.linalg.norm(z, axis=-1, keepdims=True)


class Host:
    """Draws on the host. XLA sorts to permute, which on a CPU takes longer than NumPy's shuffle."""

    def __init__(self, config: RunConfig) -> None:
        assert config.rle is not None
        self._rows = (config.learner.rollout_steps, config.environment.num_envs)
        self._dimension = config.rle.dimension
        self._orders = (config.learner.epochs, config.batch_size)
        self._source = np.random.Generator(np.random.SFC64(config.seed))

    def draw(self, iterations: int) -> Drawn:
        """Of so many iterations."""
        source, lead = self._source, (iterations, *self._rows)
        noise = source.standard_exponential((*lead, MOVES), dtype=np.float32)
        np.log(np.maximum(noise, SMALLEST, out=noise), out=noise)
        np.negative(noise, out=noise)
        latents = source.standard_normal((*lead, self._dimension), dtype=np.float32)
        latents /= np.sqrt(np.square(latents).sum(-1, keepdims=True))
        orders = np.empty((iterations, *self._orders), np.int32)
        orders[...] = np.arange(self._orders[-1], dtype=np.int32)
        for order in orders.reshape(-1, self._orders[-1]):
            source.shuffle(order)
        # `jit` takes NumPy's arrays as they are.
        return Drawn(noise, latents, orders)  # type: ignore[arg-type]
