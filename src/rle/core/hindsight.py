"""z in hindsight: the one under which what happened would have earned the most."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional


def hindsight_latents(features: Tensor, lived: Tensor, discount: float, lengths: Tensor) -> Tensor:
    """Of all z of a given length, the one that maximises Σ_k γ^k f(s_k)·z over a trajectory.

    The sum is a dot product with z, so that z points where the discounted sum of features does.

    Args:
        features: f(s_k), standardised and of unit norm as F has them, `[K, B, d]`.
        lived: bool `[K, B]`: False after the trajectory's end.
        discount: γ.
        lengths: of the wanted z, `[B]`.

    Returns:
        z `[B, d]`.

    """
    powers = discount ** torch.arange(len(features), device=features.device)
    weights = powers[:, None] * lived
    total = (weights[..., None] * features).sum(0)
    return functional.normalize(total, dim=-1) * lengths[:, None]
