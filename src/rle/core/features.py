"""φ: the feature network whose dot product with z is the bonus.

It is frozen, or its backbone follows another network, mostly the value's; no gradient ever reaches it.
Any module `[..., *observation_shape] -> [..., d]` will do in its place.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import TypeVar

import torch
from torch import Tensor, nn
from torch.nn import functional

Layer = TypeVar("Layer", nn.Linear, nn.Conv2d)

WIDTHS = (64, 64, 64)
"""Dense layers of `random_features`: the paper's on FourRoom."""
CONVOLUTIONS = ((32, 8, 4), (64, 4, 2), (64, 3, 1))
"""Channels, kernel and stride of each layer (Mnih et al. 2015)."""
SMALLEST_IMAGE = 36
"""Rows and columns that leave something for the last convolution."""


@torch.no_grad()
def follow(follower: nn.Module, leader: nn.Module, rate: float) -> None:
    """One step of φ ← τ V + (1-τ) φ with τ = `rate`, over all parameters of `follower`.

    A shallower `follower` follows the leader's first layers. The leader may also take z, in columns
    after the observation's: φ has none of those.
    """
    for mine, theirs in zip(follower.parameters(), leader.parameters(), strict=False):
        mine.lerp_(theirs[..., : mine.shape[-1]], rate)


class FeatureNetwork(nn.Module):
    """A backbone, then a random linear layer to d dimensions that is never trained."""

    def __init__(
        self,
        body: nn.Module,
        width: int,
        dimension: int,
        generator: torch.Generator,
        clip: float | None = None,
    ) -> None:
        """`body` maps `[..., *shape]` to `[..., width]`; `generator` draws the last layer.

        With `clip`, observations beyond ± so much are taken for that: one measurement that now and then
        jumps would otherwise be most of what the features say.
        """
        super().__init__()
        self.body = body
        self._clip = clip
        self.projection = initialise(nn.Linear(width, dimension), 1.0, generator)
        self.requires_grad_(False)

    def forward(self, observation: Tensor) -> Tensor:
        """Observations `[..., *shape] -> [..., d]`."""
        return _applied(self.projection, self.body(self.clipped(observation)))

    def clipped(self, observation: Tensor) -> Tensor:
        """What the backbone is shown of an observation."""
        return observation if self._clip is None else observation.clamp(-self._clip, self._clip)

    def follow(self, leader: nn.Module, rate: float) -> None:
        """Let the backbone follow `leader`, see `follow`; the last layer stays."""
        follow(self.body, leader, rate)


def random_features(
    observation_shape: Sequence[int], dimension: int, generator: torch.Generator
) -> FeatureNetwork:
    """A frozen random φ that fits: convolutions for an image `[C, H, W]`, dense layers for the rest.

    Images too small for the convolutions are flattened. Integers are taken for bytes and divided by
    255. φ hardly sees a number that is small beside the others: centre and scale what it is shown.
    """
    shape = tuple(observation_shape)
    body = _RandomBody(shape, generator)
    return FeatureNetwork(body, WIDTHS[-1], dimension, generator)


class _RandomBody(nn.Module):
    """`[..., *shape] -> [..., WIDTHS[-1]]`, a ReLU after every layer."""

    def __init__(self, shape: tuple[int, ...], generator: torch.Generator) -> None:
        super().__init__()
        self._shape = shape
        layers: list[nn.Module] = []
        if len(shape) == 3 and min(shape[1:]) >= SMALLEST_IMAGE:
            channels = shape[0]
            for outputs, kernel, stride in CONVOLUTIONS:
                layer = nn.Conv2d(channels, outputs, kernel, stride)
                layers += [initialise(layer, math.sqrt(2), generator), nn.ReLU()]
                channels = outputs
        layers.append(nn.Flatten())
        with torch.no_grad():
            flat = nn.Sequential(*layers)(torch.zeros(1, *shape)).shape[-1]
        for before, after in itertools.pairwise((flat, *WIDTHS)):
            layers += [initialise(nn.Linear(before, after), math.sqrt(2), generator), nn.ReLU()]
        self.layers = nn.Sequential(*layers)

    def forward(self, observation: Tensor) -> Tensor:
        leading = observation.shape[: observation.dim() - len(self._shape)]
        flat = observation.reshape(-1, *self._shape).float()
        flat = flat if observation.is_floating_point() else 1 / 255 * flat
        for layer in self.layers:
            flat = _applied(layer, flat)
        return flat.reshape(*leading, -1)


def _applied(layer: nn.Module, values: Tensor) -> Tensor:
    """`layer(values)`: most of a small layer's time would go into calling it as a module."""
    if isinstance(layer, nn.Linear):
        return functional.linear(values, layer.weight, layer.bias)
    return values.relu() if isinstance(layer, nn.ReLU) else layer(values)


def initialise(layer: Layer, gain: float, generator: torch.Generator) -> Layer:
    """Orthogonal weights of the given gain and zero biases (PPO detail 2), drawn from `generator`."""
    nn.init.orthogonal_(layer.weight, gain, generator=generator)
    assert layer.bias is not None
    nn.init.zeros_(layer.bias)
    return layer
