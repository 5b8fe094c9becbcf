"""Running mean and variance, or covariance, over everything seen, accumulated in float64."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol, Self, TypeVar

import torch
from torch import Tensor


class RunningMeanStd:
    """Mean and population variance of a stream of `[..., *shape]` samples (Chan et al. 1979).

    Two of them merge into what one that saw everything would hold.
    """

    def __init__(self, shape: tuple[int, ...], device: torch.device | str = "cpu") -> None:
        self.count = torch.zeros((), dtype=torch.float64, device=device)
        self.mean = torch.zeros(shape, dtype=torch.float64, device=device)
        self.squares = torch.zeros(shape, dtype=torch.float64, device=device)
        """Sum of squared distances from the mean."""

    def update(self, samples: Tensor, real: Tensor | None = None) -> None:
        """Take in `[..., *shape]` samples, or only those that are `real`, bool `[...]`."""
        # No branch depends on data: what calls this may be compiled.
        samples = samples.reshape(-1, *self.mean.shape).double()
        if len(samples) == 0:
            return
        if real is None:
            mean = samples.mean(0)
            self._merge(len(samples), mean, self._squares_of(samples - mean, None))
            return
        weight = real.reshape(-1, *(1 for _ in self.mean.shape)).double()
        count = weight.sum()
        mean = (samples * weight).sum(0) / count.clamp(min=1)
        self._merge(count, mean, self._squares_of(samples - mean, weight))

    def _squares_of(self, distances: Tensor, weight: Tensor | None) -> Tensor:
        """The sum of squared distances `[B, *shape]` from a mean, each with its weight `[B, ...]`."""
        squares = distances.square()
        return (squares if weight is None else squares * weight).sum(0)

    def _square_of(self, shift: Tensor) -> Tensor:
        return shift.square()

    def empty(self) -> Self:
        """One of the same form that has seen nothing."""
        return type(self)(tuple(self.mean.shape), self.mean.device)

    def flat(self) -> Tensor:
        """Everything as one vector, to be sent elsewhere."""
        return torch.cat([part.reshape(-1) for part in (self.count, self.mean, self.squares)])

    def together(self, vectors: Iterable[Tensor]) -> Self:
        """What several of this form have seen, of each of which `flat` is given: in their order."""
        result = self.empty()
        for vector in vectors:
            count, mean, squares = vector.split([1, self.mean.numel(), self.squares.numel()])
            seen = self.empty()
            parts = {"count": count[0], "mean": mean.view_as(self.mean)}
            seen.load_state_dict({**parts, "squares": squares.view_as(self.squares)})
            result.merge(seen)
        return result

    def merge(self, other: Self) -> None:
        """Take in everything `other` has seen."""
        self._merge(other.count, other.mean, other.squares)

    def _merge(self, count: float | Tensor, mean: Tensor, squares: Tensor) -> None:
        total = self.count + count
        share = count / total.clamp(min=1)
        shift = mean - self.mean
        self.mean = self.mean + shift * share
        self.squares = self.squares + squares + self._square_of(shift) * (self.count * share)
        self.count = total

    @property
    def std(self) -> Tensor:
        """Population standard deviation; ones before anything was seen."""
        return torch.where(self.count > 0, (self.squares / self.count.clamp(min=1)).sqrt(), 1.0)

    def state_dict(self) -> dict[str, Tensor]:
        """All that is needed to go on exactly from here."""
        return {"count": self.count, "mean": self.mean, "squares": self.squares}

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        """Go on from a state of `state_dict`."""
        device = self.mean.device
        self.count, self.mean, self.squares = (
            state[name].to(device) for name in ("count", "mean", "squares")
        )


class RunningCovariance(RunningMeanStd):
    """Mean and population covariance of a stream of `[..., m]` samples."""

    def __init__(self, width: int, device: torch.device | str = "cpu") -> None:
        super().__init__((width,), device)
        self.squares = torch.zeros(width, width, dtype=torch.float64, device=device)
        """Sum of the outer products `[m, m]` of distances from the mean."""

    def _squares_of(self, distances: Tensor, weight: Tensor | None) -> Tensor:
        return distances.T @ (distances if weight is None else distances * weight)

    def _square_of(self, shift: Tensor) -> Tensor:
        return torch.outer(shift, shift)

    def empty(self) -> Self:
        return type(self)(len(self.mean), self.mean.device)

    @property
    def covariance(self) -> Tensor:
        """`[m, m]`; zeros before anything was seen."""
        return self.squares / self.count.clamp(min=1)


Seen = TypeVar("Seen", bound=RunningMeanStd)


class Pool(Protocol):
    """What one process saw to what several saw together."""

    def __call__(self, seen: Seen) -> Seen:
        """`seen` of all of them."""
