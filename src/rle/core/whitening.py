"""F(s', z) of whitened features: what has hardly been seen weighs more, and pays by itself.

Features that are standardised one by one still vary together: most of what they say, they say several
times, and a z follows whatever varies most. Whitened, every direction in which the states seen so far
differ has the same deviation, so that a state that is seldom seen lies far out: with as many features
as there are states, its distance is one over the root of how often it was seen. That distance, the
rarity of the state, is one feature whose weight is the same under every z.

It pays by how much a state is rarer than those of the last rollout: what every state has in common says
nothing of where to go. Paid for as well, it would be a wage for every step, which an agent loses by
reaching a goal, and whose sum hangs on when z changes next, which no value can foresee. And it pays less
for what the episode has shown before: a rare state is worth a visit, not a stay.

z itself is multiplied with a random mixture of features that are whitened only as far as they vary more
than on average: what varies less is mostly noise, which no policy can follow.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from rle.core.novelty import Order, episodic_novelty
from rle.core.running_mean_std import Pool, RunningCovariance, RunningMeanStd

RIDGE = 1e-3
"""Variance that every direction is taken to have besides what was seen of it, as a share of the mean
one: a state unlike all others is at most some thirty deviations away."""
RIDGE_OF_DIRECTIONS = 1.0
"""The same for what z is multiplied with."""
EPSILON = 1e-8
"""The same where nothing has varied yet."""


class WhitenedReward:
    """F = f(s')·z + κ (rarity(s') - usual) with its running statistics: used as `RandomReward` is.

    `usual` is the mean rarity of what was observed between the last two commits. With w(s') =
    (φ(s') - μ) (Σ + ridge)^(-1/2) / √m, the rarity is ‖w‖, about 1 on average over the states seen; f is
    w, with a larger ridge, times a fixed random matrix.
    """

    def __init__(
        self,
        width: int,
        dimension: int,
        rarity: float,
        generator: torch.Generator,
        device: torch.device | str = "cpu",
        centre_rarity: bool = True,
    ) -> None:
        """`width` is φ's number of features, m; `rarity` is κ; `generator` draws the mixture.

        Without `centre_rarity`, nothing is taken off the rarity.
        """
        self._rarity, self._centres = rarity, centre_rarity and rarity > 0
        self.usual_rarity = torch.full((), float(self._centres), device=device)
        """What is taken off the rarity until the next `commit`: at first 1, its root mean square."""
        self._pending_rarity = RunningMeanStd((), device)
        self._asked: tuple[Tensor, Tensor] | None = None
        """The features that `reward` was asked about last, and their rarity: `observe` needs it too."""
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

    def reward(self, features: Tensor, z: Tensor, order: Order | None = None) -> Tensor:
        """F `[...]` of φ(s') `[..., m]` under z `[..., d]`; changes no later one.

        With `order`, of B transitions `[B, m]`, rarity counts as far as it is new to the episode.
        """
        directed, rarity = self.parts(features, z, order)
        if not torch.compiler.is_compiling():
            self._asked = features, rarity
        return directed + self._rarity * (rarity - self.usual_rarity)

    def parts(
        self, features: Tensor, z: Tensor, order: Order | None = None
    ) -> tuple[Tensor, Tensor]:
        """f(s')·z and the rarity of s', each `[...]`; changes nothing."""
        centred = features - self.mean
        directed = ((centred @ self.directions) * z).sum(-1)
        return directed, self._rarity_of(centred, order)

    def _rarity_of(self, centred: Tensor, order: Order | None = None) -> Tensor:
        white = centred @ self.whitening
        rarity = torch.linalg.vector_norm(white, dim=-1)
        return rarity if order is None else rarity * episodic_novelty(white, order)

    def standardised(self, features: Tensor) -> Tensor:
        """What z is multiplied with, f `[..., d]` of φ(s') `[..., m]`; changes nothing."""
        return (features - self.mean) @ self.directions

    @torch.no_grad()
    def observe(self, features: Tensor, real: Tensor | None = None) -> None:
        """Take φ(s') `[..., m]`, or what is `real` of it, bool `[...]`, into what `commit` uses.

        If `reward` was asked about the same tensor last, the rarity it paid for is the one that counts.
        """
        self._pending.update(features, real)
        asked, rarity = self._asked or (None, None)
        self._asked = None
        if self._centres and self._whitens:
            if rarity is None or asked is not features:
                rarity = self._rarity_of(features - self.mean)
            self._pending_rarity.update(rarity, real)

    def commit(self, pool: Pool | None = None) -> None:
        """Whiten with everything observed so far, from now on.

        With `pool`, with what it makes of that: say, with what all ranks observed.
        """
        self.moments.merge(self._pending if pool is None else pool(self._pending))
        self._pending = self.moments.empty()
        self._use_moments()
        if self._centres:
            seen = self._pending_rarity if pool is None else pool(self._pending_rarity)
            self.usual_rarity = torch.where(seen.count > 0, seen.mean, self.usual_rarity).float()
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
        learned["usual_rarity"] = self.usual_rarity
        pending = self._pending.state_dict()
        pending["rarity"] = self._pending_rarity.flat()
        return {"moments": learned, "pending": pending}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on from a state of `state_dict`; without "pending", from one in which nothing was."""
        device = self.mixture.device
        self.mixture = state["moments"]["mixture"].to(device)
        self.moments.load_state_dict(state["moments"])
        self._use_moments()
        # States from before anything was taken off do not have it.
        if "usual_rarity" in state["moments"]:
            self.usual_rarity = state["moments"]["usual_rarity"].to(device)
        self._pending, self._pending_rarity = self.moments.empty(), self._pending_rarity.empty()
        if "pending" in state:
            self._pending.load_state_dict(state["pending"])
            self._pending_rarity = self._pending_rarity.together(
                [state["pending"]["rarity"].to(device)]
            )
