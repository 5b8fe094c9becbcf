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
    source = torch.Generator().manual_seed(1)
    reward = WhitenedReward(features.shape[-1], dimension, rarity, source, centre_rarity=False)
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
    other = WhitenedReward(3, 2, 0.5, torch.Generator().manual_seed(99), centre_rarity=False)
    other.load_state_dict(reward.state_dict())
    z = numbers(40, 2, seed=3)
    assert torch.equal(other.reward(features, z), reward.reward(features, z))
    reward.commit()
    other.commit()
    assert torch.equal(other.reward(features, z), reward.reward(features, z))


def centred(features: Tensor, then: Tensor) -> WhitenedReward:
    """One that saw `then` in its last rollout, after `features`."""
    reward = WhitenedReward(features.shape[-1], 2, 0.5, torch.Generator().manual_seed(1))
    for seen in (features, then):
        reward.observe(seen)
        reward.commit()
    return reward


ENDS = torch.tensor([[1.0], [-1.0]])
"""Features of variance 1: with the ridge, x is x / √1.001 from the mean."""


def test_where_all_states_are_as_rare_rarity_pays_nothing() -> None:
    corners = torch.tensor([[1.0, 1], [1, -1], [-1, 1], [-1, -1]])
    paid = centred(corners, corners).reward(corners, torch.zeros(4, 2))
    torch.testing.assert_close(paid, torch.zeros(4), rtol=0, atol=1e-6)


def test_rarity_pays_what_it_is_above_the_last_rollouts() -> None:
    """Whitened by what was seen up to the last commit; the mean is of what it was when it was seen."""
    reward = centred(ENDS, torch.cat([ENDS, 3 * ENDS]))
    assert float(reward.usual_rarity) == pytest.approx(2 / 1.001**0.5, rel=1e-6)
    # Of two at 1 and two at 1 and 3: the variance is (1 + 1 + 1 + 9) * 2 / 6 = 4 or so.
    seen = torch.cat([ENDS, ENDS, 3 * ENDS])
    distance = 3 / float(seen.var(correction=0) * 1.001) ** 0.5
    paid = reward.reward(3 * ENDS, torch.zeros(2, 2))
    expected = 0.5 * (distance - 2 / 1.001**0.5)
    assert paid.tolist() == pytest.approx([expected] * 2, rel=1e-5)


def test_the_usual_rarity_counts_what_is_real_and_begins_at_one() -> None:
    reward = WhitenedReward(1, 2, 0.5, torch.Generator().manual_seed(1))
    assert float(reward.usual_rarity) == 1
    # Before anything was committed, distances mean nothing.
    reward.observe(torch.cat([ENDS, 3 * ENDS]))
    reward.commit()
    assert float(reward.usual_rarity) == 1
    # Nothing seen, nothing learned.
    reward.commit()
    assert float(reward.usual_rarity) == 1
    reward.observe(torch.cat([ENDS, 9 * ENDS]), torch.tensor([True, True, False, False]))
    reward.commit()
    assert float(reward.usual_rarity) == pytest.approx((5 * 1.001) ** -0.5, rel=1e-5)


def test_the_usual_rarity_goes_on_from_its_state() -> None:
    reward = centred(ENDS, 2 * ENDS)
    reward.observe(3 * ENDS)
    other = centred(5 * ENDS, ENDS)
    other.load_state_dict(reward.state_dict())
    assert torch.equal(other.usual_rarity, reward.usual_rarity)
    before = float(reward.usual_rarity)
    for one in (reward, other):
        one.observe(ENDS)
        one.commit()
    assert float(reward.usual_rarity) != before
    assert torch.equal(other.usual_rarity, reward.usual_rarity)


def test_uncentred_the_rarity_is_paid_in_full() -> None:
    source = torch.Generator().manual_seed(1)
    reward = WhitenedReward(1, 2, 0.5, source, centre_rarity=False)
    state = centred(ENDS, ENDS).state_dict()
    # As runs of before have it.
    del state["moments"]["usual_rarity"], state["pending"]
    for _ in range(2):
        reward.observe(ENDS)
        reward.commit()
        paid = reward.reward(ENDS, torch.zeros(2, 2))
        assert paid.tolist() == pytest.approx([0.5 / 1.001**0.5] * 2, rel=1e-5)
        reward.load_state_dict(state)
