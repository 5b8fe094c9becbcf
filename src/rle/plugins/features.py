"""φ for the observations of any space: a frozen random network, or one that follows the user's."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import torch
from gymnasium import spaces
from gymnasium.vector.utils import create_empty_array
from torch import Tensor, nn
from torch.nn import functional

from rle.core.features import SMALLEST_IMAGE, FeatureNetwork, random_features
from rle.errors import UsageError
from rle.plugins.observations import LatentObservation, as_tensors


class RandomFeatures(nn.Module):
    """A frozen random φ that fits `space`: convolutions for images, dense layers for everything else.

    Takes trees of tensors `[N, ...]`; bytes become numbers from 0 to 1. φ hardly sees a number that is
    small beside the others: normalise observations underneath.
    """

    def __init__(
        self, space: spaces.Space[Any], dimension: int, generator: torch.Generator
    ) -> None:
        super().__init__()
        self._space = space
        self._image = _image_shape(space)
        shape = self._image or (_flat_size(space),)
        self.network = random_features(shape, dimension, generator)

    def forward(self, observation: Any) -> Tensor:
        """Observations of N environments to features `[N, dimension]`."""
        if self._image is not None:
            return self.network(_channels_first(observation, self._image))
        return self.network(_flat(self._space, observation))


def _image_shape(space: spaces.Space[Any]) -> tuple[int, ...] | None:
    """`[C, H, W]` of an image large enough for the convolutions, else None."""
    if not isinstance(space, spaces.Box) or space.dtype != np.uint8:
        return None
    shape = space.shape
    if len(shape) == 2:
        shape = (1, *shape)
    if len(shape) != 3:
        return None
    if shape[-1] < shape[0]:
        shape = (shape[-1], *shape[:2])
    return shape if min(shape[1:]) >= SMALLEST_IMAGE else None


def _channels_first(images: Tensor, shape: tuple[int, ...]) -> Tensor:
    if tuple(images.shape[1:]) == shape:
        return images
    return images[:, None] if images.dim() == 3 else images.permute(0, 3, 1, 2)


def _flat_size(space: spaces.Space[Any]) -> int:
    try:
        return spaces.flatdim(space)
    except (ValueError, NotImplementedError) as error:
        raise UsageError(
            f"observations of {type(space).__name__} cannot be made vectors of one size: give a φ of "
            "your own as features."
        ) from error


def _flat(space: spaces.Space[Any], observation: Any) -> Tensor:
    """A tree of tensors `[N, ...]` as float32 `[N, size]`; codes as zeros and ones."""
    if isinstance(space, spaces.Dict):
        parts = [_flat(part, observation[key]) for key, part in space.spaces.items()]
        return torch.cat(parts, -1)
    if isinstance(space, spaces.Tuple):
        pairs = zip(space.spaces, observation, strict=True)
        return torch.cat([_flat(part, entry) for part, entry in pairs], -1)
    if isinstance(space, spaces.Discrete):
        return functional.one_hot(observation.long() - int(space.start), int(space.n)).float()
    if isinstance(space, spaces.MultiDiscrete):
        codes = observation.flatten(1).long() - torch.as_tensor(space.start.flatten())
        sizes = space.nvec.flatten().tolist()
        hot = [functional.one_hot(codes[:, i], size) for i, size in enumerate(sizes)]
        return torch.cat(hot, -1).float()
    flat = observation.flatten(1).float()
    bytes_ = isinstance(space, spaces.Box) and observation.dtype == torch.uint8
    return flat / 255 if bytes_ else flat


def check_features(features: nn.Module, space: spaces.Space[Any], width: int) -> None:
    """Refuse a φ of the user's that does not map observations of `space` to `[N, width]`."""
    shape = tuple(_probe(features, space).shape)
    if shape != (2, width):
        raise UsageError(
            f"features maps 2 observations to {shape} instead of (2, {width}): let its last layer "
            f"have {width} outputs."
        )


@torch.no_grad()
def _probe(module: nn.Module, space: spaces.Space[Any]) -> Tensor:
    """What `module` makes of two empty observations."""
    device = next((parameter.device for parameter in module.parameters()), "cpu")
    empty = as_tensors(create_empty_array(space, n=2, fn=np.zeros), device)
    output = module(empty)
    if not isinstance(output, Tensor):
        raise UsageError(f"φ must return a tensor, and this one returns {type(output).__name__}.")
    return output


class _WithoutLatent(nn.Module):
    """A copy of a module that sees z, fed with zeros in its place: φ knows no z."""

    def __init__(self, module: nn.Module, observations: LatentObservation, dimension: int) -> None:
        super().__init__()
        self.module = copy.deepcopy(module).eval()
        self._join = observations.join
        self._size = dimension

    def forward(self, observation: Any) -> Tensor:
        leaf = observation
        while not isinstance(leaf, Tensor):
            leaf = next(iter(leaf.values() if isinstance(leaf, dict) else leaf))
        return self.module(self._join(observation, leaf.new_zeros(len(leaf), self._size).float()))


class FollowingFeatures(FeatureNetwork):
    """φ whose backbone follows a network of the user's; its last layer is random and stays."""

    def __init__(
        self,
        leader: nn.Module,
        observations: LatentObservation,
        dimension: int,
        width: int,
        generator: torch.Generator,
    ) -> None:
        """`leader` maps what the wrapper shows, z of `dimension` included, to one vector each.

        φ makes `width` features of it.
        """
        body = _WithoutLatent(leader, observations, dimension)
        output = _probe(body, observations.original)
        if output.dim() != 2 or len(output) != 2:
            raise UsageError(
                f"the module to follow maps 2 observations to {tuple(output.shape)}: follow the layers "
                "of the value network that end in one vector per observation."
            )
        super().__init__(body, output.shape[1], width, generator)
        self.to(output.device)
