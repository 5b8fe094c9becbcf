"""Stable-Baselines3's actor-critic policies with a second value head, the bonus's."""

from __future__ import annotations

from functools import partial
from typing import Any

import torch
from gymnasium import spaces
from stable_baselines3.common.policies import (
    ActorCriticPolicy,
    MultiInputActorCriticPolicy,
)
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor, NatureCNN
from torch import Tensor, nn

from rle.errors import UsageError
from rle.plugins.observations import LATENT, OBSERVATION

HEAD_GAIN = 0.01
"""Of both value heads' first weights."""


class TwoHeads:
    """Values are `[N, 2]`, the task's and the bonus's, wherever a policy gives them with actions."""

    def _build(self: Any, lr_schedule: Any) -> None:
        super()._build(lr_schedule)  # type: ignore[misc]
        self.value_net = nn.Linear(self.mlp_extractor.latent_dim_vf, 2)
        # Near zero, as RND's: where the task pays nothing yet, a value of any size is noise, and its
        # advantage would drown the bonus's.
        self.value_net.apply(partial(self.init_weights, gain=HEAD_GAIN))
        # The one that is there holds the parameters of the single head.
        self.optimizer = self.optimizer_class(
            self.parameters(), lr=lr_schedule(1), **self.optimizer_kwargs
        )

    def predict_values(self, obs: Any) -> Tensor:
        """The task's values `[N, 1]`: at a time limit, they alone go on."""
        return super().predict_values(obs)[:, :1]  # type: ignore[misc]

    def predict_bonus_values(self, obs: Any) -> Tensor:
        """The bonus's values `[N, 1]`."""
        return super().predict_values(obs)[:, 1:]  # type: ignore[misc]


class ImageWithLatent(BaseFeaturesExtractor):
    """`NatureCNN` on the image; z, encoded, is added to its features, as in the paper's Atari agent."""

    def __init__(
        self,
        observation_space: spaces.Dict,
        features_dim: int = 512,
        normalized_image: bool = False,
    ) -> None:
        if set(observation_space.spaces) != {OBSERVATION, LATENT}:
            raise UsageError(
                "CnnPolicy is for images alone, and these observations have other parts: use "
                "MultiInputPolicy."
            )
        super().__init__(observation_space, features_dim)
        image, latent = observation_space[OBSERVATION], observation_space[LATENT]
        self.image = NatureCNN(image, features_dim, normalized_image)
        assert latent.shape is not None
        self.latent = nn.Sequential(
            nn.Linear(latent.shape[0], features_dim),
            nn.ReLU(),
            nn.Linear(features_dim, features_dim),
            nn.ReLU(),
        )

    def forward(self, observations: dict[str, Tensor]) -> Tensor:
        """A dictionary of an image and z to `[N, features_dim]`."""
        features: torch.Tensor = self.image(observations[OBSERVATION])
        return features + self.latent(observations[LATENT])


class TwoHeadPolicy(TwoHeads, ActorCriticPolicy):
    """`MlpPolicy` with two value heads."""


class TwoHeadMultiInputPolicy(TwoHeads, MultiInputActorCriticPolicy):
    """`MultiInputPolicy` with two value heads."""


class TwoHeadCnnPolicy(TwoHeads, ActorCriticPolicy):
    """`CnnPolicy` with two value heads, for images that z stands beside."""

    def __init__(
        self,
        observation_space: spaces.Space[Any],
        action_space: spaces.Space[Any],
        lr_schedule: Any,
        net_arch: Any = None,
        features_extractor_class: type[BaseFeaturesExtractor] = ImageWithLatent,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            observation_space,
            action_space,
            lr_schedule,
            # As for NatureCNN alone: no hidden layers after it.
            [] if net_arch is None else net_arch,
            features_extractor_class=features_extractor_class,
            **kwargs,
        )
