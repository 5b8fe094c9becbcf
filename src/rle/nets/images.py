"""Networks for images: the convolutional agent of the paper's Atari experiments, and its parts."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional

from rle.config import NetworkConfig, Precision
from rle.core.features import CONVOLUTIONS, SMALLEST_IMAGE, initialise
from rle.nets.actor_critic import ActorCritic
from rle.nets.distributions import distribution_for
from rle.nets.layers import HIDDEN_GAIN, LinearFactory
from rle.nets.precision import computing_in
from rle.tasks.base import TaskSpec

FOR_SMALLER = (
    (18, ((32, 4, 2), (64, 4, 2), (64, 3, 1))),
    (9, ((32, 3, 1), (64, 3, 2), (64, 3, 1))),
    (4, ((32, 2, 1), (64, 2, 1), (64, 2, 1))),
    (1, ((32, 1, 1), (64, 1, 1), (64, 1, 1))),
)
"""The same for images with too few rows or columns for `CONVOLUTIONS`, from so many on."""
UNIT_SCALE = 1 / 255
"""Bytes to numbers from 0 to 1."""


def convolutions_for(rows: int, columns: int) -> tuple[tuple[int, int, int], ...]:
    """Channels, kernel and stride of layers that leave something of such an image."""
    sizes = ((SMALLEST_IMAGE, CONVOLUTIONS), *FOR_SMALLER)
    return next(layers for smallest, layers in sizes if min(rows, columns) >= smallest)


class ImageBody(nn.Module):
    """Three convolutions, then dense layers with a ReLU after each; `[..., C, H, W] -> [..., width]`.

    Takes bytes or numbers; `scale` multiplies them first.
    """

    def __init__(
        self,
        shape: tuple[int, ...],
        hidden: Sequence[int],
        generator: torch.Generator,
        scale: float = UNIT_SCALE,
        precision: Precision = "float32",
        activation: Callable[[Tensor], Tensor] = functional.relu,
    ) -> None:
        super().__init__()
        layers = convolutions_for(*shape[1:])
        channels = (shape[0], *(layer[0] for layer in layers))
        self.convolutions = nn.ModuleList(
            initialise(nn.Conv2d(before, after, kernel, stride), HIDDEN_GAIN, generator)
            for (before, after), (_, kernel, stride) in zip(
                itertools.pairwise(channels), layers, strict=True
            )
        )
        self._scale = scale
        self._precision = precision
        self._activate = activation
        with torch.no_grad():
            flat = self._convolved(torch.zeros(1, *shape)).shape[-1]
        widths = (flat, *hidden)
        self.dense = nn.ModuleList(
            initialise(nn.Linear(before, after), HIDDEN_GAIN, generator)
            for before, after in itertools.pairwise(widths)
        )
        self.width = widths[-1]

    def _convolved(self, images: Tensor) -> Tensor:
        """`[B, C, H, W] -> [B, flat]`, in the order of channels-first memory."""
        # One pass over the images: their type and their layout change together, and the scale goes
        # to the weights, of which there are fewer. Bytes are exact in bfloat16 too.
        half = torch.is_autocast_enabled(images.device.type)
        dtype = torch.bfloat16 if half else torch.float32
        x = images.to(dtype, memory_format=torch.channels_last)
        for index, layer in enumerate(self.convolutions):
            assert isinstance(layer, nn.Conv2d)
            weight = layer.weight * self._scale if index == 0 else layer.weight
            x = self._activate(functional.conv2d(x, weight, layer.bias, layer.stride))
        return x.flatten(1)

    def forward(self, observation: Tensor) -> Tensor:
        with computing_in(self._precision, observation.device):
            x = self._convolved(observation.flatten(0, -4))
            for layer in self.dense:
                x = functional.relu(layer(x))
        return x.float().unflatten(0, observation.shape[:-3])


class ImageHead(nn.Module):
    """An `ImageBody` with a linear layer at its end: RND's predictor and target."""

    def __init__(self, body: ImageBody, outputs: int, generator: torch.Generator) -> None:
        super().__init__()
        self.body = body
        self.output = initialise(nn.Linear(body.width, outputs), HIDDEN_GAIN, generator)

    def forward(self, observation: Tensor) -> Tensor:
        """`[..., C, H, W] -> [..., outputs]`."""
        return self.output(self.body(observation))


class ImageActorCritic(ActorCritic):
    """One body for policy and value; the encoded latent is added to its embedding.

    The policy has a hidden layer of its own, the values a residual one (the network of Burda et al.
    2019 without recurrence, which the paper and its scripts use). Small gains, as there: the first
    policy is uniform and the first values are near zero.
    """

    def __init__(
        self,
        spec: TaskSpec,
        config: NetworkConfig,
        latent_inputs: int,
        streams: int,
        generator: torch.Generator,
        linear: LinearFactory = nn.Linear,
        precision: Precision = "float32",
    ) -> None:
        super().__init__(spec.action_space, config)
        self._precision = precision
        self.value_body = ImageBody(
            spec.observation_shape, config.embedding, generator, precision=precision
        )
        width = self.value_body.width
        outputs = distribution_for(spec.action_space).head_size

        def layer(inputs: int, gain: float) -> nn.Linear:
            return initialise(nn.Linear(inputs, width), gain, generator)

        self.policy_hidden = layer(width, 0.01)
        self.policy_head = initialise(linear(width, outputs), 0.01, generator)
        self.value_hidden = layer(width, 0.1)
        self.value_heads = nn.ModuleList(
            initialise(linear(width, 1), 0.01 * config.value_gain, generator)
            for _ in range(streams)
        )
        self.latent_encoder = (
            nn.Sequential(
                layer(latent_inputs, HIDDEN_GAIN), nn.ReLU(), layer(width, HIDDEN_GAIN), nn.ReLU()
            )
            if latent_inputs
            else None
        )

    def _policy_of(self, embedding: Tensor) -> Tensor:
        return self.policy_head(functional.relu(self.policy_hidden(embedding)))

    def _values_of(self, embedding: Tensor) -> Tensor:
        hidden = embedding + functional.relu(self.value_hidden(embedding))
        return torch.cat([head(hidden) for head in self.value_heads], -1)

    def policy(self, observation: Tensor, latent: Tensor | None) -> Tensor:
        return self.forward(observation, latent)[0]

    def value(self, observation: Tensor, latent: Tensor | None) -> Tensor:
        return self.forward(observation, latent)[1]

    def forward(self, observation: Tensor, latent: Tensor | None) -> tuple[Tensor, Tensor]:
        embedding = self.value_body(observation)
        with computing_in(self._precision, observation.device):
            if self.latent_encoder is not None:
                embedding = embedding + self.latent_encoder(latent)
            output, values = self._policy_of(embedding), self._values_of(embedding)
        return self._with_std(output.float()), values.float()

    def act(self, observation: Tensor, latent: Tensor | None) -> tuple[Tensor, Tensor | None]:
        return self.forward(observation, latent)
