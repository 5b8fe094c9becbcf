"""φ in the critic's shape, on what the critic sees, without z."""

from __future__ import annotations

import copy
from typing import Any

import torch
from torch import Tensor, nn

from rle.core.features import FeatureNetwork

LATENT = "latent"
"""The observation group that z is."""


class _CriticBody(nn.Module):
    """A copy of the critic up to its last layer, shown zeros in place of z."""

    def __init__(self, critic: Any) -> None:
        super().__init__()
        self.critic = copy.deepcopy(critic).eval()
        layers = list(self.critic.mlp)
        self._last = max(i for i, layer in enumerate(layers) if isinstance(layer, nn.Linear))
        self.width: int = layers[self._last].in_features

    def forward(self, observation: Any) -> Tensor:
        without = observation.copy()
        without[LATENT] = torch.zeros_like(without[LATENT])
        hidden = self.critic.get_latent(without)
        for layer in list(self.critic.mlp)[: self._last]:
            hidden = layer(hidden)
        return hidden


class CriticFeatures(FeatureNetwork):
    """A copy of the critic's layers that may follow them, and a random layer to `[N, d]` that stays.

    Takes rsl_rl's observations of N environments with the group `latent`, and does not look at that.
    """

    def __init__(self, critic: Any, dimension: int, generator: torch.Generator) -> None:
        body = _CriticBody(critic)
        super().__init__(body, body.width, dimension, generator)

    @property
    def _normaliser(self) -> Any:
        assert isinstance(self.body, _CriticBody)
        return self.body.critic.obs_normalizer

    @property
    def normalises(self) -> bool:
        """Whether what φ sees is normalised."""
        return bool(self._normaliser.state_dict())

    @property
    def normalised(self) -> bool:
        """Whether anything is known to normalise by."""
        return not self.normalises or bool(self._normaliser.count > 0)

    def normalise_as(self, critic: Any) -> list[Tensor]:
        """Take the critic's normalisation of observations over; returns what that is."""
        self._normaliser.load_state_dict(critic.obs_normalizer.state_dict())
        return list(self._normaliser.state_dict().values())
