"""F(s', z) of whitened features: what has hardly been seen weighs more, and pays by itself.

Features that are standardised one by one still vary together: most of what they say, they say several
times, and a z follows whatever varies most. Whitened, every direction in which the states seen so far
differ has the same deviation, so that a state that is seldom seen lies far out: with as many features
as there are states, its distance is one over the root of how often it was seen. That distance, the
rarity of the state, is one feature whose weight is the same under every z.

Where every state is about as far from the others as the next, as in worlds that are drawn anew or among
a hundred measurements, that distance is noise. So it may weigh as much as it varies over what was seen
last.

z itself is multiplied with a random mixture of features that are whitened only as far as they vary more
than on average: what varies less is mostly noise, which no policy can follow.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from rle.core.running_mean_std import Pool, RunningCovariance, RunningMeanStd

RIDGE = 1e-3
"""Variance that every direction is taken to have besides what was seen of it, as a share of the mean
one: a state unlike all others is at most some thirty deviations away."""
RIDGE_OF_DIRECTIONS = 1.0
"""The same for what z is multiplied with."""
EPSILON = 1e-8
"""The same where nothing has varied yet."""
TELLING = 0.25
"""The share of variance in the rarity's mean square from which on it weighs all that it is asked to. It
is 0.05 for the measurements of an ant's body, 0.1 in rooms that are drawn anew, 0.1 to 0.9 where a maze
is being discovered."""


class WhitenedReward:
    """F = f(s')·z + κ · rarity(s') with its running statistics: used as `RandomReward` is.

    With w(s') = (φ(s') - μ) (Σ + ridge)^(-1/2) / √m, the rarity is ‖w‖, about 1 on average over the
    states seen; f is w, with a larger ridge, times a fixed random matrix.
    """

    def __init__(
        self,
        width: int,
        dimension: int,
        rarity: float,
        generator: torch.Generator,
        device: torch.device | str = "cpu",
        weigh_rarity: bool = False,
    ) -> None:
        """`width` is φ's number of features, m; `rarity` is κ; `generator` draws the mixture.

        With `weigh_rarity`, κ is times min(1, v / TELLING), where v is the share of the variance in the
        mean square of the rarity, over what was observed between the last two commits.
        """
        self._rarity, self._weigh = rarity, weigh_rarity and rarity > 0
        self.rarity_weight = torch.full((), float(rarity), device=device)
        """What the rarity is multiplied with until the next `commit`."""
        self._pending_rarity = RunningMeanStd((), device)
        self._whitens = False
        """Whether anything has been committed: before, no state is rarer than another."""
        mixture = torch.randn(width, dimension, generator=generator)
        self.mixture = mixture.to(device)
        """`[m, d]`."""
        self.moments = RunningCovariance(width, device)
        """Of everything observed up to the last `commit`."""
        self._pending = RunningCovariance(width, device)
        self.mean = torch.zeros(width, device=device)
        """μ, float32 `[m]`."""
        self.whitening = torch.eye(width, device=device)
        """float32 `[m, m]`."""
        self.directions = self.mixture
        """float32 `[m, d]`: f of a centred feature."""

    def reward(self, features: Tensor, z: Tensor) -> Tensor:
        """F `[...]` of φ(s') `[..., m]` under z `[..., d]`; changes nothing."""
        directed, rarity = self.parts(features, z)
        return directed + self.rarity_weight * rarity

    def parts(self, features: Tensor, z: Tensor) -> tuple[Tensor, Tensor]:
        """f(s')·z and the rarity of s', each `[...]`; changes nothing."""
        centred = features - self.mean
        directed = ((centred @ self.directions) * z).sum(-1)
        return directed, self._rarity_of(centred)

    def _rarity_of(self, centred: Tensor) -> Tensor:
        return torch.linalg.vector_norm(centred @ self.whitening, dim=-1)

    def standardised(self, features: Tensor) -> Tensor:
        """What z is multiplied with, f `[..., d]` of φ(s') `[..., m]`; changes nothing."""
        return (features - self.mean) @ self.directions

    @torch.no_grad()
    def observe(self, features: Tensor, real: Tensor | None = None) -> None:
        """Take φ(s') `[..., m]`, or what is `real` of it, bool `[...]`, into what `commit` uses."""
        self._pending.update(features, real)
        if self._weigh and self._whitens:
            self._pending_rarity.update(self._rarity_of(features - self.mean), real)

    def commit(self, pool: Pool | None = None) -> None:
        """Whiten with everything observed so far, from now on.

        With `pool`, with what it makes of that: say, with what all ranks observed.
        """
        self.moments.merge(self._pending if pool is None else pool(self._pending))
        self._pending = self.moments.empty()
        self._use_moments()
        if self._weigh:
            seen = self._pending_rarity if pool is None else pool(self._pending_rarity)
            self.rarity_weight = self._rarity * _telling(seen)
            self._pending_rarity = seen.empty()

    def _use_moments(self) -> None:
        self.whitening = self._whitening(RIDGE).float()
        self.directions = self._whitening(RIDGE_OF_DIRECTIONS).float() @ self.mixture
        self.mean = self.moments.mean.float()
        self._whitens = True

    def _whitening(self, ridge: float) -> Tensor:
        """`[m, m]`: a centred feature times this has the norm 1 on average, if `ridge` is small."""
        covariance = self.moments.covariance
        variance = ridge * covariance.diagonal().mean() + EPSILON
        one = torch.eye(len(covariance), dtype=covariance.dtype, device=covariance.device)
        # With Σ = L Lᵀ, L⁻¹ whitens as well as the symmetric root does and is cheaper; the mixture does
        # not care by which rotation they differ. `_ex`, so that a GPU's host need not wait.
        factor, _ = torch.linalg.cholesky_ex(covariance + variance * one)
        whitening = torch.linalg.solve_triangular(factor, one, upper=False).T
        return whitening / len(covariance) ** 0.5

    def state_dict(self) -> dict[str, Any]:
        """All that is needed to go on exactly from here."""
        learned = {**self.moments.state_dict(), "mixture": self.mixture}
        learned["rarity_weight"] = self.rarity_weight
        pending = self._pending.state_dict()
        pending["rarity"] = self._pending_rarity.flat()
        return {"moments": learned, "pending": pending}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on from a state of `state_dict`; without "pending", from one in which nothing was."""
        device = self.mixture.device
        self.mixture = state["moments"]["mixture"].to(device)
        self.moments.load_state_dict(state["moments"])
        self._use_moments()
        # States from before rarities were weighed do not have it.
        weight = state["moments"].get("rarity_weight")
        self.rarity_weight = (
            torch.full((), float(self._rarity), device=device)
            if weight is None
            else weight.to(device)
        )
        self._pending, self._pending_rarity = self.moments.empty(), self._pending_rarity.empty()
        if "pending" in state:
            self._pending.load_state_dict(state["pending"])
            self._pending_rarity = self._pending_rarity.together(
                [state["pending"]["rarity"].to(device)]
            )


def _telling(rarity: RunningMeanStd) -> Tensor:
    """How much of its weight a rarity of these moments deserves, float32; all, if none was seen."""
    variance = rarity.std.square()
    share = variance / (variance + rarity.mean.square() + EPSILON)
    weight = (share / TELLING).clamp(max=1)
    return torch.where(rarity.count > 0, weight, 1.0).float()
