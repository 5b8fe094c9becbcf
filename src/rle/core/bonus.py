"""F(s', z): the random reward, and the feature statistics it is standardised by.

Reading a bonus changes nothing. States enter the statistics by `observe`, and the statistics are used
from the next `commit` on: between two of them, F is one function, as in Algorithm 2.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from rle.core.running_mean_std import Pool, RunningMeanStd

NORM_EPSILON = 1e-8
"""Keeps a feature of norm zero from becoming NaN."""
STD_EPSILON = 1e-8
"""Keeps a feature that never varied from being divided by zero."""


def standardised_features(
    features: Tensor,
    mean: Tensor | float = 0.0,
    std: Tensor | float | None = None,
    unit_norm: bool = True,
) -> Tensor:
    """f(s') `[..., d]` of Algorithm 2: (φ - μ) / σ, or φ without σ, over its norm if `unit_norm`."""
    standardised = features if std is None else (features - mean) / (std + STD_EPSILON)
    if unit_norm:
        norm = torch.linalg.vector_norm(standardised, dim=-1, keepdim=True)
        standardised = standardised / (norm + NORM_EPSILON)
    return standardised


def random_reward(
    features: Tensor,
    latents: Tensor,
    mean: Tensor | float = 0.0,
    std: Tensor | float | None = None,
    unit_norm: bool = True,
) -> Tensor:
    """F(s', z) of Algorithm 2: f(s')·z with f = (φ - μ) / σ, over ‖f‖ if `unit_norm`.

    Args:
        features: φ(s'), `[..., d]`.
        latents: z, `[..., d]`.
        mean: μ, `[d]`.
        std: σ, `[d]`; None: φ is taken as it is.

    Returns:
        The bonus `[...]`; with `unit_norm` and z on the sphere it lies in [-1, 1].

    """
    return (standardised_features(features, mean, std, unit_norm) * latents).sum(-1)


class RandomReward:
    """F with its running statistics; without `standardise`, it keeps none and μ = 0, σ = 1."""

    def __init__(
        self,
        dimension: int,
        standardise: bool = True,
        unit_norm: bool = True,
        device: torch.device | str = "cpu",
    ) -> None:
        self._standardise = standardise
        self._unit_norm = unit_norm
        self.moments = RunningMeanStd((dimension,), device)
        """Of everything observed up to the last `commit`."""
        self._pending = RunningMeanStd((dimension,), device)
        self.mean = torch.zeros(dimension, device=device)
        """μ, float32 `[d]`."""
        self.std = torch.ones(dimension, device=device)
        """σ, float32 `[d]`."""

    def reward(self, features: Tensor, z: Tensor) -> Tensor:
        """F `[...]` of φ(s') `[..., d]` under z `[..., d]`; changes nothing."""
        return (self.standardised(features) * z).sum(-1)

    def standardised(self, features: Tensor) -> Tensor:
        """What z is multiplied with, of φ(s') `[..., d]`: the same shape; changes nothing."""
        std = self.std if self._standardise else None
        return standardised_features(features, self.mean, std, self._unit_norm)

    @torch.no_grad()
    def observe(self, features: Tensor, real: Tensor | None = None) -> None:
        """Take φ(s') `[..., d]`, or what is `real` of it, bool `[...]`, into what `commit` uses."""
        if self._standardise:
            self._pending.update(features, real)

    def commit(self, pool: Pool | None = None) -> None:
        """Standardise with everything observed so far, from now on.

        With `pool`, with what it makes of that: say, with what all ranks observed.
        """
        if self._standardise:
            self.moments.merge(self._pending if pool is None else pool(self._pending))
            self._pending = RunningMeanStd(tuple(self.mean.shape), self.mean.device)
            self._use_moments()

    def _use_moments(self) -> None:
        self.mean = self.moments.mean.float()
        self.std = self.moments.std.float()

    def state_dict(self) -> dict[str, Any]:
        """All that is needed to go on exactly from here."""
        return {"moments": self.moments.state_dict(), "pending": self._pending.state_dict()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on from a state of `state_dict`; without "pending", from one in which nothing was."""
        self.moments.load_state_dict(state["moments"])
        self._pending = self.moments.empty()
        if "pending" in state:
            self._pending.load_state_dict(state["pending"])
        self._use_moments()
