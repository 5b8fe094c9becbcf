"""Action distributions against torch.distributions."""

import pytest
import torch
from torch import distributions

from rle.nets.distributions import Categorical, DiagonalGaussian

torch.manual_seed(0)
LOGITS, OTHER_LOGITS = torch.randn(6, 4), torch.randn(6, 4)
GAUSSIAN, OTHER_GAUSSIAN = torch.randn(6, 6), torch.randn(6, 6)


def normal(output: torch.Tensor) -> distributions.Independent:
    mean, log_std = output.chunk(2, -1)
    return distributions.Independent(distributions.Normal(mean, log_std.exp()), 1)


CASES = [
    pytest.param(
        Categorical(4),
        LOGITS,
        OTHER_LOGITS,
        lambda x: distributions.Categorical(logits=x),
        torch.randint(0, 4, (6,)),
        id="categorical",
    ),
    pytest.param(
        DiagonalGaussian(3), GAUSSIAN, OTHER_GAUSSIAN, normal, torch.randn(6, 3), id="gaussian"
    ),
]


@pytest.mark.parametrize(("mine", "output", "other", "reference", "action"), CASES)
def test_agrees_with_torch(mine, output, other, reference, action) -> None:
    oracle = reference(output)
    torch.testing.assert_close(mine.log_probability(output, action), oracle.log_prob(action))
    torch.testing.assert_close(mine.entropy(output), oracle.entropy())
    expected = distributions.kl_divergence(oracle, reference(other))
    torch.testing.assert_close(mine.divergence(output, other), expected)


def test_categorical_samples_have_the_right_frequencies() -> None:
    logits = torch.tensor([0.1, 0.2, 0.3, 0.4]).log().expand(100_000, 4)
    noise = Categorical(4).draw_noise((100_000,), torch.Generator().manual_seed(0))
    counts = torch.bincount(Categorical(4).sample(logits, noise), minlength=4) / 100_000
    # Five standard errors of a frequency are at most 5 * 0.5 / sqrt(100000) = 0.008.
    torch.testing.assert_close(counts, torch.tensor([0.1, 0.2, 0.3, 0.4]), atol=0.008, rtol=0)


def test_gaussian_samples_have_the_right_moments() -> None:
    output = torch.tensor([2.0, -1.0, 0.0, 1.0]).expand(100_000, 4)
    family = DiagonalGaussian(2)
    drawn = family.sample(output, family.draw_noise((100_000,), torch.Generator().manual_seed(0)))
    torch.testing.assert_close(drawn.mean(0), torch.tensor([2.0, -1.0]), atol=0.05, rtol=0)
    torch.testing.assert_close(drawn.std(0), torch.tensor([1.0, 2.71828]), atol=0.05, rtol=0)


def test_modes() -> None:
    assert Categorical(3).mode(torch.tensor([[0.0, 2.0, 1.0]])).tolist() == [1]
    assert DiagonalGaussian(1).mode(torch.tensor([[0.7, 5.0]])).tolist() == [[pytest.approx(0.7)]]
