"""Networks of dense layers for the XLA program, with all their parameters in one vector."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt
from jax import Array

from rle.config import NetworkConfig, RLEConfig

Layers = list[tuple[Array, Array]]
"""Weights `[inputs, outputs]` and biases of each layer."""
Sizes = tuple[tuple[int, ...], ...]
"""The widths of each of some networks, from inputs to outputs."""

OBSERVED, MOVES, STREAMS = 2, 4, 2
"""Coordinates, actions, and returns whose value is estimated."""


def network_sizes(config: NetworkConfig, dimension: int) -> Sizes:
    """Of policy and value, which see coordinates and z."""
    inputs = OBSERVED + dimension
    return (inputs, *config.policy_hidden, MOVES), (inputs, *config.value_hidden, STREAMS)


def feature_sizes(settings: RLEConfig) -> Sizes:
    """Of φ alone."""
    assert settings.feature_hidden is not None
    return ((OBSERVED, *settings.feature_hidden, settings.dimension),)


def initial(
    source: np.random.Generator, sizes: Sizes, last_gains: Sequence[float]
) -> npt.NDArray[np.float32]:
    """Orthogonal weights and zero biases of some networks, as one vector."""
    parts = []
    for widths, last_gain in zip(sizes, last_gains, strict=True):
        layers = list(itertools.pairwise(widths))
        gains = [math.sqrt(2)] * (len(layers) - 1) + [last_gain]
        for (inputs, outputs), gain in zip(layers, gains, strict=True):
            tall = source.standard_normal((max(inputs, outputs), min(inputs, outputs)))
            basis, upper = np.linalg.qr(tall)
            basis = basis * np.sign(np.diag(upper))
            weights = gain * (basis if inputs >= outputs else basis.T)
            parts += [weights.reshape(-1), np.zeros(outputs)]
    return np.concatenate(parts).astype(np.float32)


def unpacked(vector: Array, sizes: Sizes) -> list[Layers]:
    """The layers of each network, views of `initial`'s vector."""
    networks, at = [], 0
    for widths in sizes:
        layers = []
        for inputs, outputs in itertools.pairwise(widths):
            weights = vector[at : at + inputs * outputs].reshape(inputs, outputs)
            at += inputs * outputs
            layers.append((weights, vector[at : at + outputs]))
            at += outputs
        networks.append(layers)
    return networks


def dense(layers: Layers, values: Array, activate: Callable[[Array], Array]) -> Array:
    """`[..., inputs] -> [..., outputs]`, without an activation after the last layer."""
    *hidden, (weights, bias) = layers
    for inner, inner_bias in hidden:
        values = activate(values @ inner + inner_bias)
    return values @ weights + bias
