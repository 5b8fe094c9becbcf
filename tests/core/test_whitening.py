"""Whitened features against closed forms: rarity by counting, mixtures by hand, statistics by numpy."""

import numpy as np
import pytest
import torch
from torch import Tensor

from rle.core.running_mean_std import RunningCovariance
from rle.core.whitening import RIDGE, RIDGE_OF_DIRECTIONS, WhitenedReward


def numbers(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def reward_for(features: Tensor, dimension: int = 2, rarity: float = 0.5) -> WhitenedReward:
    """One that has observed `features` `[B, m]`."""
    reward = WhitenedReward(features.shape[-1], dimension, rarity, torch.Generator().manual_seed(1))
    reward.observe(features)
    reward.commit()
    return reward


def test_covariance_is_numpys_whatever_the_parts() -> None:
    samples = numbers(50, 3) @ numbers(3, 3, seed=1) + 7
    real = torch.arange(50) % 3 != 0
    moments = RunningCovariance(3)
    for part, counts in zip(samples.split([1, 9, 40]), real.split([1, 9, 40]), strict=True):
        moments.update(part, counts)
    moments.update(samples[:0])
    expected = np.cov(samples[real].double().numpy().T, bias=True)
    np.testing.assert_allclose(moments.covariance.numpy(), expected, rtol=1e-5)
    np.testing.assert_allclose(moments.mean.numpy(), samples[real].double().mean(0).numpy())


def test_what_ranks_saw_is_what_one_would_have_seen() -> None:
    samples = numbers(30, 4)
    whole, parts = RunningCovariance(4), [RunningCovariance(4) for _ in range(3)]
    whole.update(samples)
    for moments, part in zip(parts, samples.split([5, 0, 25]), strict=True):
        moments.update(part)
    together = whole.together([part.flat() for part in parts])
    torch.testing.assert_close(together.covariance, whole.covariance, rtol=1e-6, atol=1e-7)
    assert float(together.count) == 30


def test_rarity_counts_visits() -> None:
    """Of numbered states as zeros and ones, the distance of state i is √((1 - p_i) / p_i), over √m."""
    visits = torch.tensor([1, 3, 12, 48])
    states = torch.eye(4)
    reward = reward_for(states.repeat_interleave(visits, 0))
    share = visits / visits.sum()
    _, rarity = reward.parts(states, torch.zeros(2))
    expected = ((1 - share) / share).sqrt() / 2
    # The ridge adds a thousandth of the mean variance to each: seen in the rarest state alone.
    torch.testing.assert_close(rarity[1:], expected[1:], rtol=0.01, atol=0)
    torch.testing.assert_close(rarity[:1], expected[:1], rtol=0.05, atol=0)


def test_the_distance_weighs_every_direction_and_z_what_varies_much() -> None:
    """However unlike the features' sizes are and however much they vary together."""
    features = numbers(5000, 3) @ torch.tensor([[100.0, 99.0, 0], [0, 1, 0], [0, 0, 50]])
    reward = reward_for(features, dimension=3)
    centred = features - features.mean(0)
    variances = torch.linalg.eigvalsh(torch.cov(features.T.double()))
    # About 1, that of b - 0.99 a; then thousands.
    mean = float(variances.mean())

    def spread(white: Tensor) -> list[float]:
        return torch.linalg.eigvalsh(torch.cov(3**0.5 * white.T)).tolist()

    for white, ridge in (
        (centred @ reward.whitening, RIDGE),
        (reward.standardised(features) @ torch.linalg.inv(reward.mixture), RIDGE_OF_DIRECTIONS),
    ):
        expected = sorted(float(one) / (float(one) + ridge * mean) for one in variances)
        assert spread(white) == pytest.approx(expected, rel=0.05)


def test_f_by_hand() -> None:
    # Features ±1: variance 1, with the ridge 1.001; the first state is 1 / √1.001 from the mean. What z
    # is multiplied with has the variance 1 besides, and is 1 / √2 from the mean.
    reward = reward_for(torch.tensor([[1.0], [-1.0]]), dimension=1, rarity=0.25)
    z = torch.tensor([2.0])
    paid = reward.reward(torch.tensor([[1.0], [-1.0], [0.0]]), z)
    rare, directed = 0.25 * 1.001**-0.5, 2 * float(reward.mixture) * 2**-0.5
    torch.testing.assert_close(paid, torch.tensor([directed + rare, rare - directed, 0]))


def test_reading_changes_nothing_and_observing_waits_for_commit() -> None:
    features = numbers(20, 3)
    reward = reward_for(features)
    z = numbers(20, 2, seed=3)
    before = reward.reward(features, z)
    reward.observe(100 * features)
    assert torch.equal(reward.reward(features, z), before)
    reward.commit()
    assert not torch.equal(reward.reward(features, z), before)


def test_what_never_varied_pays_nothing() -> None:
    features = torch.tensor([0.1, -2.3, 1e4]).expand(7, 3)
    paid = reward_for(features).reward(features, torch.ones(7, 2))
    assert paid.tolist() == [0.0] * 7


def test_goes_on_from_its_state() -> None:
    features = numbers(40, 3)
    reward = reward_for(features)
    reward.observe(numbers(10, 3, seed=5))
    other = WhitenedReward(3, 2, 0.5, torch.Generator().manual_seed(99))
    other.load_state_dict(reward.state_dict())
    z = numbers(40, 2, seed=3)
    assert torch.equal(other.reward(features, z), reward.reward(features, z))
    reward.commit()
    other.commit()
    assert torch.equal(other.reward(features, z), reward.reward(features, z))


def weighed(features: Tensor, then: Tensor) -> WhitenedReward:
    """One that weighs its rarity by what it saw of `then`, after `features`."""
    reward = WhitenedReward(
        features.shape[-1], 2, 0.5, torch.Generator().manual_seed(1), weigh_rarity=True
    )
    for seen in (features, then):
        reward.observe(seen)
        reward.commit()
    return reward


def test_a_rarity_that_says_nothing_weighs_nothing() -> None:
    """States that are all as rare: the corners of a square."""
    corners = torch.tensor([[1.0, 1], [1, -1], [-1, 1], [-1, -1]])
    assert float(weighed(corners, corners).rarity_weight) == pytest.approx(0, abs=1e-12)


def test_the_rarity_weighs_as_much_as_it_varies() -> None:
    """Half of the states at distance 1 and half at x: v = ((x - 1) / 2)² / ((1 + x²) / 2)."""
    ends = torch.tensor([[1.0], [-1.0]])
    for x in (1.5, 2.0, 10.0):
        v = ((x - 1) / 2) ** 2 / ((1 + x * x) / 2)
        expected = 0.5 * min(1.0, v / 0.25)
        weight = weighed(ends, torch.cat([ends, x * ends])).rarity_weight
        assert float(weight) == pytest.approx(expected, rel=1e-5)
        # The ridge is the same for both, and drops out of the share.


def test_the_weight_counts_what_is_real_and_begins_full() -> None:
    ends = torch.tensor([[1.0], [-1.0]])
    source = torch.Generator().manual_seed(1)
    reward = WhitenedReward(1, 2, 0.5, source, weigh_rarity=True)
    assert float(reward.rarity_weight) == 0.5
    # Before anything was committed, distances mean nothing.
    reward.observe(torch.cat([ends, 3 * ends]))
    reward.commit()
    assert float(reward.rarity_weight) == 0.5
    reward.observe(torch.cat([ends, 9 * ends]), torch.tensor([True, True, False, False]))
    reward.commit()
    assert float(reward.rarity_weight) == pytest.approx(0, abs=1e-12)


def test_the_weight_goes_on_from_its_state() -> None:
    ends = torch.tensor([[1.0], [-1.0]])
    reward = weighed(ends, torch.cat([ends, 2 * ends]))
    reward.observe(3 * ends)
    other = weighed(5 * ends, ends)
    other.load_state_dict(reward.state_dict())
    assert torch.equal(other.rarity_weight, reward.rarity_weight)
    for one in (reward, other):
        one.observe(ends)
        one.commit()
    assert 0 < float(reward.rarity_weight) < 0.5
    assert torch.equal(other.rarity_weight, reward.rarity_weight)


def test_states_of_before_weigh_the_rarity_in_full() -> None:
    reward = weighed(torch.tensor([[1.0], [-1.0]]), torch.tensor([[1.0], [-1.0]]))
    state = reward.state_dict()
    del state["moments"]["rarity_weight"], state["pending"]
    reward.load_state_dict(state)
    assert float(reward.rarity_weight) == 0.5
