"""The PPO loss against numbers worked by hand."""

import math

import pytest
import torch

from rle.learn.loss import LossWeights, normalised, ppo_loss

WEIGHTS = LossWeights(
    clip=0.2, entropy=0.1, value=(0.5, 2.0), clip_value_loss=True, normalise_advantages=False
)


def loss_of(weights: LossWeights = WEIGHTS, **changes: torch.Tensor):
    arguments = {
        # ratios 1.5 (clipped for a gain) and 0.5 (clipped for a loss)
        "log_probability": torch.tensor([math.log(1.5), math.log(0.5)]),
        "entropy": torch.tensor([1.0, 3.0]),
        "values": torch.tensor([[1.0, 2.0], [0.0, 1.0]]),
        "old_log_probability": torch.zeros(2),
        "old_values": torch.tensor([[0.5, 0.0], [0.0, 0.0]]),
        "advantage": torch.tensor([1.0, -1.0]),
        "returns": torch.tensor([[1.0, 0.0], [2.0, 1.0]]),
    } | changes
    return ppo_loss(**arguments, weights=weights)


def test_every_term_by_hand() -> None:
    loss, terms = loss_of()
    # policy: max(-1.5, -1.2) = -1.2; max(0.5, 0.8) = 0.8; mean -0.2
    torch.testing.assert_close(terms.policy, torch.tensor(-0.2))
    # task value: errors 0 and 4; clipped value 0.5 + 0.2 = 0.7 has error 0.09; so 0.09 and 4,
    # half the mean: 1.0225. Bonus value is never clipped: 4 and 0, half the mean: 1.
    torch.testing.assert_close(terms.value, torch.tensor([1.0225, 1.0]))
    torch.testing.assert_close(terms.entropy, torch.tensor(2.0))
    # -0.2 - 0.1 * 2 + 0.5 * 1.0225 + 2 * 1
    torch.testing.assert_close(loss, torch.tensor(2.11125))
    torch.testing.assert_close(terms.clip_fraction, torch.tensor(1.0))
    # mean of (r - 1 - log r): (0.5 - 0.405465 + -0.5 + 0.693147) / 2
    torch.testing.assert_close(terms.approximate_kl, torch.tensor(0.143841), atol=1e-6, rtol=0)


def test_value_loss_without_clipping() -> None:
    _, terms = loss_of(WEIGHTS._replace(clip_value_loss=False))
    torch.testing.assert_close(terms.value, torch.tensor([1.0, 1.0]))


def test_advantages_are_normalised_per_minibatch_with_the_unbiased_deviation() -> None:
    # 3 and 1 become ±1/sqrt(2); ratio 1 keeps the policy loss at minus their mean, 0.
    weights = WEIGHTS._replace(normalise_advantages=True, clip=10.0)
    ratios = torch.tensor([math.log(2.0), 0.0])
    _, terms = loss_of(weights, advantage=torch.tensor([3.0, 1.0]), log_probability=ratios)
    # -(2 * 0.7071 - 0.7071) / 2
    torch.testing.assert_close(terms.policy, torch.tensor(-math.sqrt(0.5) / 2))


@pytest.mark.parametrize("real", [0, 1])
def test_a_minibatch_with_one_real_row_or_none_gives_finite_gradients(real: int) -> None:
    values = torch.tensor([[1.0, 2.0], [0.0, 1.0]], requires_grad=True)
    log_probability = torch.tensor([0.1, 0.2], requires_grad=True)
    loss, _ = loss_of(
        WEIGHTS._replace(normalise_advantages=True),
        values=values,
        log_probability=log_probability,
        mask=torch.tensor([bool(real), False]),
    )
    gradients = torch.autograd.grad(loss, (values, log_probability))
    assert bool(loss.isfinite())
    assert all(bool(gradient.isfinite().all()) for gradient in gradients)


def test_advantages_of_which_there_is_nothing_to_tell() -> None:
    """One row, or rows that are all the same, are no better than their mean: 0."""
    assert normalised(torch.tensor([3.0])).tolist() == [0.0]
    assert normalised(torch.tensor([3.0, 3.0, 3.0])).tolist() == [0.0, 0.0, 0.0]
    one_of_two = normalised(torch.tensor([3.0, 7.0]), torch.tensor([True, False]))
    assert float(one_of_two[0]) == 0.0
    assert bool(one_of_two.isfinite().all())


def test_masked_rows_count_for_nothing() -> None:
    whole, _ = loss_of(WEIGHTS._replace(normalise_advantages=True))
    padded = {
        "log_probability": torch.tensor([math.log(1.5), math.log(0.5), 7.0]),
        "entropy": torch.tensor([1.0, 3.0, 99.0]),
        "values": torch.tensor([[1.0, 2.0], [0.0, 1.0], [99.0, 99.0]]),
        "old_log_probability": torch.zeros(3),
        "old_values": torch.tensor([[0.5, 0.0], [0.0, 0.0], [5.0, 5.0]]),
        "advantage": torch.tensor([1.0, -1.0, 50.0]),
        "returns": torch.tensor([[1.0, 0.0], [2.0, 1.0], [7.0, 7.0]]),
        "mask": torch.tensor([True, True, False]),
    }
    masked, _ = loss_of(WEIGHTS._replace(normalise_advantages=True), **padded)
    torch.testing.assert_close(masked, whole)
