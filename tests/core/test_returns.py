"""Returns against hand-worked numbers and direct loops."""

import itertools

import pytest
import torch

from rle.core.returns import advantages, discounted_sums, linear_recurrence

GAMMA = torch.tensor([0.5])
LAMBDA = 0.5


def column(*values: float) -> torch.Tensor:
    return torch.tensor(values)[:, None, None]


def mask(*values: int) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.bool)[:, None, None]


@pytest.mark.parametrize("length", [1, 2, 3, 7, 128])
def test_linear_recurrence_equals_the_loop(length: int) -> None:
    generator = torch.Generator().manual_seed(length)
    inputs = torch.randn(length, 3, generator=generator, dtype=torch.float64)
    weights = torch.rand(length, 3, generator=generator, dtype=torch.float64)
    expected = []
    carried = torch.zeros(3, dtype=torch.float64)
    for x, w in zip(inputs, weights, strict=True):
        carried = x + w * carried
        expected.append(carried)
    torch.testing.assert_close(linear_recurrence(inputs, weights), torch.stack(expected))


def test_linear_recurrence_leaves_what_it_is_given() -> None:
    inputs, weights = torch.ones(5, 2), torch.full((5, 2), 0.5)
    linear_recurrence(inputs, weights)
    assert torch.equal(inputs, torch.ones(5, 2))
    assert torch.equal(weights, torch.full((5, 2), 0.5))


# Rewards 1, 2, 4; values 8, 4, 2; value after the last step 16; discount and lambda one half.
REWARDS, VALUES, NEXT_VALUES = column(1, 2, 4), column(8, 4, 2), column(4, 2, 16)


def test_nothing_cut() -> None:
    # delta: 1 + 2 - 8 = -5;  2 + 1 - 4 = -1;  4 + 8 - 2 = 10; trace weight 1/4
    # A_2 = 10; A_1 = -1 + 2.5 = 1.5; A_0 = -5 + 0.375 = -4.625
    never = mask(0, 0, 0)
    result = advantages(REWARDS, VALUES, NEXT_VALUES, never, never, GAMMA, LAMBDA)
    torch.testing.assert_close(result, column(-4.625, 1.5, 10))


def test_termination_cuts_value_and_trace() -> None:
    # delta_1 loses its bootstrap: 2 - 4 = -2, and nothing flows back over it:
    # A_1 = -2; A_0 = -5 - 0.5 = -5.5
    cut = mask(0, 1, 0)
    result = advantages(REWARDS, VALUES, NEXT_VALUES, cut, cut, GAMMA, LAMBDA)
    torch.testing.assert_close(result, column(-5.5, -2, 10))


def test_time_limit_keeps_the_value_and_ends_the_trace() -> None:
    # The true last observation is worth 6 where the next row (another episode) says 2:
    # delta_1 = 2 + 3 - 4 = 1 = A_1; A_0 = -5 + 0.25 = -4.75
    cut, stop = mask(0, 0, 0), mask(0, 1, 0)
    result = advantages(REWARDS, VALUES, column(4, 6, 16), cut, stop, GAMMA, LAMBDA)
    torch.testing.assert_close(result, column(-4.75, 1, 10))


@pytest.mark.parametrize(
    ("terminated", "truncated", "switched"), list(itertools.product([False, True], repeat=3))
)
def test_two_streams_in_every_pairing(terminated: bool, truncated: bool, switched: bool) -> None:
    """Task stream: cut by termination, stopped by either end. Bonus stream: cut by a switch of z.

    An episode's end always brings a new z, so the bonus is cut whenever any of the three holds.
    """
    truncated = truncated and not terminated
    new_latent = terminated or truncated or switched
    cut = torch.tensor([[[0, 0]], [[terminated, new_latent]], [[0, 0]]], dtype=torch.bool)
    stop = torch.tensor(
        [[[0, 0]], [[terminated or truncated, new_latent]], [[0, 0]]], dtype=torch.bool
    )
    rewards, values = REWARDS.expand(3, 1, 2), VALUES.expand(3, 1, 2)
    next_values = NEXT_VALUES.repeat(1, 1, 2)
    if truncated:
        next_values[1, 0, 0] = 6.0
    result = advantages(rewards, values, next_values, cut, stop, GAMMA.expand(2), LAMBDA)
    task = {
        (False, False): (-4.625, 1.5, 10),
        (True, False): (-5.5, -2, 10),
        (False, True): (-4.75, 1, 10),
    }[terminated, truncated]
    bonus = (-5.5, -2, 10) if new_latent else (-4.625, 1.5, 10)
    torch.testing.assert_close(result[..., :1], column(*task))
    torch.testing.assert_close(result[..., 1:], column(*bonus))


def test_rows_that_only_reset_are_passed_over() -> None:
    """With a reset row between, a never-cut stream must see its neighbours as if it were not there."""
    never = mask(0, 0, 0, 0)
    real = torch.tensor([[True], [True], [False], [True]])
    # Row 2 is the reset: whatever stands there (99) must not matter, except that its next value, 2,
    # is the value of the state after it.
    result = advantages(
        column(1, 2, 99, 4),
        column(8, 4, 99, 2),
        column(4, 99, 2, 16),
        never,
        never,
        GAMMA,
        LAMBDA,
        real,
    )
    torch.testing.assert_close(result, column(-4.625, 1.5, 0, 10))


def test_reset_rows_after_an_end_do_not_change_the_task_stream() -> None:
    real = torch.tensor([[True], [True], [False], [True]])
    stop = mask(0, 1, 0, 0)
    result = advantages(
        column(1, 2, 99, 4),
        column(8, 4, 99, 2),
        column(4, 6, 2, 16),
        mask(0, 0, 0, 0),
        stop,
        GAMMA,
        LAMBDA,
        real,
    )
    torch.testing.assert_close(result, column(-4.75, 1, 0, 10))


def test_discounted_sums_equal_a_direct_double_loop() -> None:
    """R_t = sum of discounted rewards back to the last stop, over two rollouts and with reset rows."""
    generator = torch.Generator().manual_seed(3)
    steps, envs, discount = 40, 5, 0.9
    rewards = torch.randn(steps, envs, 1, generator=generator, dtype=torch.float64)
    stop = torch.rand(steps, envs, 1, generator=generator) < 0.1
    real = torch.ones(steps, envs, dtype=torch.bool)
    # A reset row follows a stop, as it does with EnvPool, also across the border at row 20.
    stop[19, 0] = True
    real[1:] = ~stop[:-1, :, 0]
    stop &= real[..., None]

    expected = torch.zeros_like(rewards)
    for env in range(envs):
        for row in range(steps):
            total, weight, back = 0.0, 1.0, row
            while back >= 0:
                if back < row and bool(stop[back, env, 0]):
                    break
                if bool(real[back, env]):
                    total += weight * float(rewards[back, env, 0])
                    weight *= discount
                back -= 1
            expected[row, env, 0] = total

    gamma = torch.tensor([discount], dtype=torch.float64)
    carry = torch.zeros(envs, 1, dtype=torch.float64)
    first = discounted_sums(rewards[:20], stop[:20], gamma, carry, real[:20])
    carry = torch.where(stop[19], 0.0, first[-1])
    second = discounted_sums(rewards[20:], stop[20:], gamma, carry, real[20:])
    result = torch.cat([first, second])
    torch.testing.assert_close(result[real], expected[real])
