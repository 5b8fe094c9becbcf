"""Reward scaling: what it divides by, where it restarts, and what it never does."""

import torch

from rle.core.running_mean_std import RunningMeanStd
from rle.core.scaling import RewardScaler

GAMMA = torch.tensor([0.5])


def test_divides_by_the_deviation_of_the_filtered_sum() -> None:
    # One environment, rewards 1, 1, 2: sums 1, 1.5, 2.75 with mean 1.75.
    # population variance = (0.5625 + 0.0625 + 1) / 3 = 0.541667
    rewards = torch.tensor([1.0, 1.0, 2.0])[:, None, None]
    scaled = RewardScaler(1, GAMMA)(rewards, torch.zeros(3, 1, 1, dtype=torch.bool))
    torch.testing.assert_close(scaled, rewards / 0.541667**0.5, atol=1e-5, rtol=1e-5)


def test_filters_along_time_and_not_across_environments() -> None:
    # The widely copied mistake runs the filter over environments. Two environments with constant
    # rewards 1 and -1: along time sums are 1, 1.5 and -1, -1.5; variance 1.625 (mean 0).
    rewards = torch.tensor([[1.0, -1.0], [1.0, -1.0]])[..., None]
    scaler = RewardScaler(2, GAMMA)
    scaler(rewards, torch.zeros(2, 2, 1, dtype=torch.bool))
    torch.testing.assert_close(scaler.std(), torch.tensor([1.625**0.5]))


def test_filter_restarts_where_the_stream_is_stopped_and_goes_on_across_rollouts() -> None:
    stop = torch.tensor([False, True])[:, None, None]
    scaler = RewardScaler(1, GAMMA)
    ones = torch.ones(2, 1, 1)
    scaler(ones, stop)  # sums 1, 1.5, then the stream stops
    scaler(ones, torch.zeros_like(stop))  # starts again: 1, 1.5
    scaler(ones, torch.zeros_like(stop))  # goes on: 1.75, 1.875
    sums = torch.tensor([1, 1.5, 1, 1.5, 1.75, 1.875], dtype=torch.float64)
    expected = sums.std(correction=0).float()[None]
    torch.testing.assert_close(scaler.std(), expected)


def test_never_centres() -> None:
    # Every row stops, so the sums are the rewards 1 and 3: mean 2, deviation 1. They stay as they are;
    # centred they would be -1 and 1.
    rewards = torch.tensor([1.0, 3.0])[:, None, None]
    scaled = RewardScaler(1, GAMMA)(rewards, torch.ones(2, 1, 1, dtype=torch.bool))
    torch.testing.assert_close(scaled, rewards)


def test_a_row_that_is_no_transition_leaves_sum_and_statistics_as_they_are() -> None:
    # Sums 1 and 2 + 0.5 · 1 = 2.5: deviation 0.75.
    rewards = torch.tensor([1.0, 99.0, 2.0])[:, None, None]
    real = torch.tensor([True, False, True])[:, None]
    scaler = RewardScaler(1, GAMMA)
    scaler(rewards, torch.zeros(3, 1, 1, dtype=torch.bool), real)
    torch.testing.assert_close(scaler.std(), torch.tensor([0.75]))


def test_step_by_step_filter_and_moments_are_those_of_the_whole_rollout() -> None:
    source = torch.Generator().manual_seed(0)
    discounts = torch.tensor([0.9, 0.5])
    rewards = torch.randn(12, 3, 2, generator=source)
    stop = torch.rand(12, 3, 2, generator=source) < 0.3
    real = torch.rand(12, 3, generator=source) > 0.2
    whole, stepwise = RewardScaler(3, discounts), RewardScaler(3, discounts)
    scaled = whole(rewards, stop, real)
    rows = zip(rewards, stop, real, strict=True)
    steps = torch.stack([stepwise.step(*row) for row in rows])
    torch.testing.assert_close(stepwise.std(), whole.std())
    torch.testing.assert_close(stepwise.state_dict()["carry"], whole.state_dict()["carry"])
    # The last step is divided by what the rollout was; those before it by what was known then.
    torch.testing.assert_close(steps[-1], scaled[-1])
    assert not torch.allclose(steps[0], scaled[0])
    # A rollout may follow steps.
    for scaler in (whole, stepwise):
        scaler(rewards, stop)
    torch.testing.assert_close(stepwise.std(), whole.std())


def test_one_step_by_hand() -> None:
    # Rewards 1 and 3 of two environments: deviation 1. Then 3 and 1 with the first stream stopped
    # in between: sums 3 and 1 + 0.5 · 3 = 2.5; of 1, 3, 3, 2.5 mean 2.375, variance 0.671875.
    scaler = RewardScaler(2, GAMMA)
    first = scaler.step(torch.tensor([[1.0], [3.0]]), torch.tensor([[True], [False]]))
    torch.testing.assert_close(first, torch.tensor([[1.0], [3.0]]))
    second = scaler.step(torch.tensor([[3.0], [1.0]]), torch.tensor([[False], [False]]))
    torch.testing.assert_close(second, torch.tensor([[3.0], [1.0]]) / 0.671875**0.5)


def test_a_saved_scaler_goes_on_where_it_was() -> None:
    first, second = RewardScaler(2, GAMMA), RewardScaler(2, GAMMA)
    rows = torch.tensor([[1.0], [3.0]]), torch.zeros(2, 1, dtype=torch.bool)
    first.step(*rows)
    second.load_state_dict(first.state_dict())
    assert torch.equal(first.step(*rows), second.step(*rows))


def test_pooled_with_what_another_saw_it_is_as_if_one_had_seen_both() -> None:
    generator = torch.Generator().manual_seed(0)
    here, there = torch.randn(2, 3, 4, 1, generator=generator).unbind(0)
    stop = torch.zeros(3, 4, 1, dtype=torch.bool)
    elsewhere = RewardScaler(4, GAMMA)
    elsewhere(there, stop)

    def pool(moments: RunningMeanStd) -> RunningMeanStd:
        together = RunningMeanStd(())
        together.merge(moments)
        other = RunningMeanStd(())
        other.load_state_dict(elsewhere.state_dict()["moments"][0])
        together.merge(other)
        return together

    one, both = RewardScaler(4, GAMMA), RewardScaler(8, GAMMA)
    scaled = one(here, stop, pool=pool)
    both(torch.cat([here, there], 1), torch.cat([stop, stop], 1))
    torch.testing.assert_close(scaled, here / both.std())


class TestWhereThereIsNoScale:
    """Divided by the deviation and its ε, the root of 1e-8, these would come out 10,000-fold."""

    def test_before_any_data(self) -> None:
        assert RewardScaler(3, GAMMA).std().tolist() == [1.0]

    def test_one_sum(self) -> None:
        scaler = RewardScaler(1, GAMMA)
        assert scaler.step(torch.tensor([[5.0]]), torch.tensor([[False]])).tolist() == [[5.0]]
        # Sums 5 and 1 + 2.5 = 3.5: deviation 0.75.
        second = scaler.step(torch.tensor([[1.0]]), torch.tensor([[False]]))
        torch.testing.assert_close(second, torch.tensor([[1 / 0.75]]))

    def test_sums_that_are_all_the_same(self) -> None:
        # 0.1 has no exact binary form, and the mean of three is not quite one of them.
        rewards = torch.full((3, 1, 1), 0.1)
        scaled = RewardScaler(1, GAMMA)(rewards, torch.ones(3, 1, 1, dtype=torch.bool))
        assert torch.equal(scaled, rewards)

    def test_nothing_but_zeros(self) -> None:
        scaler = RewardScaler(2, GAMMA)
        zeros, never = torch.zeros(3, 2, 1), torch.zeros(3, 2, 1, dtype=torch.bool)
        assert torch.equal(scaler(zeros, never), zeros)

    def test_nothing_real(self) -> None:
        rewards, stop = torch.ones(2, 1, 1), torch.zeros(2, 1, 1, dtype=torch.bool)
        scaled = RewardScaler(1, GAMMA)(rewards, stop, torch.zeros(2, 1, dtype=torch.bool))
        assert torch.equal(scaled, rewards)

    def test_a_small_scale_is_one(self) -> None:
        # Sums 1 and 1.001, a thousand times what single precision can tell apart: deviation 0.0005,
        # whose square 2.5e-7 has 1e-8 added to it.
        rewards = torch.tensor([1.0, 1.001])[:, None, None]
        scaler = RewardScaler(1, GAMMA)
        scaler(rewards, torch.ones(2, 1, 1, dtype=torch.bool))
        torch.testing.assert_close(scaler.std(), torch.tensor([2.6e-7**0.5]), rtol=1e-3, atol=0)
