"""φ: the feature network whose dot product with z is the bonus."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from rle.nets.images import ImageBody
from rle.nets.layers import MLP, initialise


class FeatureNetwork(nn.Module):
    """A backbone, then a random linear layer to d dimensions that is never trained.

    The backbone may follow the value network's by φ ← τ V + (1-τ) φ; no gradient ever reaches it.
    """

    def __init__(self, body: MLP | ImageBody, dimension: int, generator: torch.Generator) -> None:
        super().__init__()
        self.body = body
        self.projection = initialise(nn.Linear(body.width, dimension), 1.0, generator)
        self.requires_grad_(False)

    def forward(self, observation: Tensor) -> Tensor:
        """Observations `[..., *shape] -> [..., d]`."""
        return self.projection(self.body(observation))

    @torch.no_grad()
    def follow(self, value_body: nn.Module, rate: float) -> None:
        """One step of φ ← τ V + (1-τ) φ with τ = `rate`, over the whole backbone.

        A shallower φ follows the value network's first layers.
        """
        for mine, theirs in zip(self.body.parameters(), value_body.parameters(), strict=False):
            # The value network may also take z, in columns after the observation's: φ has none.
            mine.lerp_(theirs[..., : mine.shape[-1]], rate)
