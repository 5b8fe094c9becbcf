"""The networks that fit a task's observations."""

from __future__ import annotations

import torch
from torch import nn

from rle.config import NetworkConfig, Precision
from rle.nets.actor_critic import ActorCritic, VectorActorCritic
from rle.nets.images import ImageActorCritic
from rle.nets.layers import LinearFactory
from rle.tasks.base import TaskSpec


def make_actor_critic(
    spec: TaskSpec,
    config: NetworkConfig,
    latent_inputs: int,
    streams: int,
    generator: torch.Generator,
    linear: LinearFactory = nn.Linear,
    precision: Precision = "float32",
) -> ActorCritic:
    """Policy and value networks for vectors or for images."""
    if not spec.is_image:
        return VectorActorCritic(spec, config, latent_inputs, streams, generator, linear)
    return ImageActorCritic(spec, config, latent_inputs, streams, generator, linear, precision)
