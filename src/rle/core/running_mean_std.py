"""Running mean and variance over everything seen, accumulated in float64."""

from __future__ import annotations

from collections.abc import Callable

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
            squares = (samples - mean).square().sum(0)
            self._merge(len(samples), mean, squares)
            return
        weight = real.reshape(-1, *(1 for _ in self.mean.shape)).double()
        count = weight.sum()
        mean = (samples * weight).sum(0) / count.clamp(min=1)
        squares = ((samples - mean).square() * weight).sum(0)
        self._merge(count, mean, squares)

    def merge(self, other: RunningMeanStd) -> None:
        """Take in everything `other` has seen."""
        self._merge(other.count, other.mean, other.squares)

    def _merge(self, count: float | Tensor, mean: Tensor, squares: Tensor) -> None:
        total = self.count + count
        share = count / total.clamp(min=1)
        shift = mean - self.mean
        self.mean = self.mean + shift * share
        self.squares = self.squares + squares + shift.square() * (self.count * share)
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


Pool = Callable[[RunningMeanStd], RunningMeanStd]
"""What one process saw to what several saw together."""
