"""Distributions of z: their moments, and what is said about a user's own."""

import pytest
import torch
from torch import Tensor

from rle.core import LATENT_DISTRIBUTIONS, check_latent_distribution
from rle.errors import UsageError


def test_moments() -> None:
    generator = torch.Generator().manual_seed(0)
    sphere, uniform, normal = (
        LATENT_DISTRIBUTIONS[name]((100_000, 3), generator)
        for name in ("sphere", "uniform", "normal")
    )
    torch.testing.assert_close(sphere.norm(dim=-1), torch.ones(100_000))
    assert float(uniform.min()) >= -0.5
    assert float(uniform.max()) <= 0.5
    # E z_i²: 1/d on the sphere, 1/12 uniform, 1 normal
    for drawn, second_moment in ((sphere, 1 / 3), (uniform, 1 / 12), (normal, 1.0)):
        torch.testing.assert_close(
            drawn.square().mean(0), torch.full((3,), second_moment), atol=0.02, rtol=0
        )


def signs(shape: tuple[int, ...], offset: float) -> Tensor:
    """±1, half of 4096 each: the standard error is 1/64, five of them 0.0781."""
    drawn = torch.ones(shape)
    drawn[::2] = -1
    return drawn + offset


def test_a_mean_within_five_standard_errors_of_zero_is_taken_silently() -> None:
    for offset in (0.0, 0.078, -0.078):
        check_latent_distribution(lambda shape, _, offset=offset: signs(shape, offset), 3, "signs")


@pytest.mark.parametrize("offset", [0.0785, -0.0785])
def test_a_mean_further_off_is_warned_of(offset: float) -> None:
    with pytest.warns(UserWarning, match="'signs' does not have mean zero"):
        check_latent_distribution(lambda shape, _: signs(shape, offset), 3, "signs")


@pytest.mark.parametrize(
    ("drawn", "reason"),
    [
        ([0.0], "must return a tensor of the shape it is asked for, here \\(4096, 3\\)"),
        (torch.zeros(3), "must return a tensor of the shape"),
        (torch.full((4096, 3), torch.inf), "not finite"),
    ],
)
def test_a_distribution_that_cannot_be_used_is_refused(drawn: object, reason: str) -> None:
    with pytest.raises(UsageError, match=reason):
        check_latent_distribution(lambda shape, generator: drawn, 3, "mine")  # type: ignore[arg-type,return-value]
