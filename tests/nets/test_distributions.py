"""Action distributions against torch.distributions."""

import pytest
import torch
from torch import distributions

from rle.nets.distributions import Categorical, DiagonalGaussian, MultiCategorical

torch.manual_seed(0)
LOGITS, OTHER_LOGITS = torch.randn(6, 4), torch.randn(6, 4)
GAUSSIAN, OTHER_GAUSSIAN = torch.randn(6, 6), torch.randn(6, 6)
SIZES = (2, 4, 1, 3)
CHOICES, OTHER_CHOICES = torch.randn(6, 10), torch.randn(6, 10)
SWITCHES, OTHER_SWITCHES = torch.randn(6, 6), torch.randn(6, 6)


def normal(output: torch.Tensor) -> distributions.Independent:
    mean, log_std = output.chunk(2, -1)
    return distributions.Independent(distributions.Normal(mean, log_std.exp()), 1)


class Independent:
    """One of PyTorch's categorical distributions for each choice, and sums over them."""

    def __init__(self, output: torch.Tensor, sizes: tuple[int, ...]) -> None:
        self.parts = [distributions.Categorical(logits=x) for x in output.split(sizes, -1)]

    def log_prob(self, action: torch.Tensor) -> torch.Tensor:
        return sum(
            part.log_prob(one) for part, one in zip(self.parts, action.unbind(-1), strict=True)
        )

    def entropy(self) -> torch.Tensor:
        return sum(part.entropy() for part in self.parts)


@distributions.register_kl(Independent, Independent)
def _divergence(first: Independent, second: Independent) -> torch.Tensor:
    pairs = zip(first.parts, second.parts, strict=True)
    return sum(distributions.kl_divergence(*pair) for pair in pairs)


def bernoulli(output: torch.Tensor) -> distributions.Independent:
    """Two logits of a switch are one: their difference."""
    off, on = output.unflatten(-1, (-1, 2)).unbind(-1)
    return distributions.Independent(distributions.Bernoulli(logits=on - off), 1)


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
    pytest.param(
        MultiCategorical(SIZES),
        CHOICES,
        OTHER_CHOICES,
        lambda x: Independent(x, SIZES),
        torch.stack([torch.randint(0, size, (6,)) for size in SIZES], -1),
        id="choices",
    ),
    pytest.param(
        MultiCategorical((2, 2, 2)),
        SWITCHES,
        OTHER_SWITCHES,
        bernoulli,
        torch.randint(0, 2, (6, 3)).float(),
        id="switches",
    ),
]


@pytest.mark.parametrize(("mine", "output", "other", "reference", "action"), CASES)
def test_agrees_with_torch(mine, output, other, reference, action) -> None:
    oracle = reference(output)
    taken = action.to(mine.action_dtype)
    torch.testing.assert_close(mine.log_probability(output, taken), oracle.log_prob(action))
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
    output = torch.tensor([[0.0, 2.0, 5.0, 1.0, 3.0, -9.0]])
    assert MultiCategorical((2, 3, 1)).mode(output).tolist() == [[1, 0, 0]]
    assert DiagonalGaussian(1).mode(torch.tensor([[0.7, 5.0]])).tolist() == [[pytest.approx(0.7)]]


def test_choices_are_sampled_independently_with_the_right_frequencies() -> None:
    """As often as the product of both probabilities says, pair by pair."""
    first, second = torch.tensor([0.3, 0.7]), torch.tensor([0.5, 0.2, 0.3])
    output = torch.cat([first.log(), second.log()]).expand(100_000, 5)
    family = MultiCategorical((2, 3))
    drawn = family.sample(output, family.draw_noise((100_000,), torch.Generator().manual_seed(0)))
    assert drawn.dtype == torch.int64
    assert drawn.shape == (100_000, 2)
    found = torch.bincount(3 * drawn[:, 0] + drawn[:, 1], minlength=6) / 100_000
    expected = (first[:, None] * second).flatten()
    torch.testing.assert_close(found, expected, atol=0.008, rtol=0)


def test_a_single_choice_is_a_categorical() -> None:
    one, same = MultiCategorical((4,)), Categorical(4)
    noise = one.draw_noise((6,), torch.Generator().manual_seed(0))
    assert torch.equal(noise, same.draw_noise((6,), torch.Generator().manual_seed(0)))
    action = one.sample(LOGITS, noise)
    assert torch.equal(action[:, 0], same.sample(LOGITS, noise))
    assert torch.equal(
        one.log_probability(LOGITS, action), same.log_probability(LOGITS, action[:, 0])
    )
    assert torch.equal(one.entropy(LOGITS), same.entropy(LOGITS))


@pytest.mark.parametrize("confidence", [1.0, 1e4])
def test_gradients_of_choices_are_pytorchs(confidence: float) -> None:
    """Shorter choices are filled up with what is never chosen; nothing of it reaches the gradient."""
    family, action = MultiCategorical(SIZES), torch.tensor([[1, 3, 0, 2]]).expand(6, 4)

    def gradient(mine: bool) -> torch.Tensor:
        output = (confidence * CHOICES).requires_grad_()
        oracle = Independent(output, SIZES)
        log_probability = (
            family.log_probability(output, action) if mine else oracle.log_prob(action)
        )
        entropy = family.entropy(output) if mine else oracle.entropy()
        (found,) = torch.autograd.grad((log_probability + 0.3 * entropy).sum(), output)
        return found

    assert bool(gradient(True).isfinite().all())
    torch.testing.assert_close(gradient(True), gradient(False))
