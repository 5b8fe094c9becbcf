"""Distributions of the latent vector z."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import torch
from torch import Tensor

from rle.errors import UsageError

LatentDistribution = Callable[[tuple[int, ...], torch.Generator], Tensor]
"""Draws z of the given shape `(..., d)` with the given generator, on the CPU."""


def sphere(shape: tuple[int, ...], generator: torch.Generator) -> Tensor:
    """Uniform on the unit sphere of the last dimension: the paper's choice."""
    return torch.nn.functional.normalize(torch.randn(shape, generator=generator), dim=-1)


def uniform(shape: tuple[int, ...], generator: torch.Generator) -> Tensor:
    """Uniform on [-0.5, 0.5]^d."""
    return torch.rand(shape, generator=generator) - 0.5


def normal(shape: tuple[int, ...], generator: torch.Generator) -> Tensor:
    """Standard normal."""
    return torch.randn(shape, generator=generator)


LATENT_DISTRIBUTIONS: dict[str, LatentDistribution] = {
    "sphere": sphere,
    "uniform": uniform,
    "normal": normal,
}
"""The distributions that have a name."""


def check_latent_distribution(distribution: LatentDistribution, dimension: int, name: str) -> None:
    """Refuse a distribution of the wrong shape; warn of one whose mean is not zero.

    Args:
        distribution: a distribution of the user's.
        dimension: d, the size of z.
        name: what the distribution is called in what is said about it.

    """
    samples = 4096
    drawn = distribution((samples, dimension), torch.Generator().manual_seed(0))
    if not isinstance(drawn, Tensor) or drawn.shape != (samples, dimension):
        raise UsageError(
            f"the distribution {name!r} must return a tensor of the shape it is asked for, "
            f"here ({samples}, {dimension})."
        )
    if not bool(drawn.isfinite().all()):
        raise UsageError(
            f"the distribution {name!r} draws numbers that are not finite: return finite ones."
        )
    mean = drawn.double().mean(0)
    # Five standard errors: a centred distribution trips this about once in a million runs.
    tolerance = 5 * drawn.double().std(0) / samples**0.5 + 1e-12
    if bool((mean.abs() > tolerance).any()):
        warnings.warn(
            f"the latent distribution {name!r} does not have mean zero: every z then pulls the agent "
            "to the same places, and exploration suffers; centre it.",
            stacklevel=3,
        )
