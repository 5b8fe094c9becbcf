"""F by hand and by its properties, and the statistics behind it: reading a bonus changes nothing."""

import pytest
import torch

from rle.core import LATENT_DISTRIBUTIONS, RandomReward, RunningMeanStd, random_reward


class TestRandomReward:
    def test_by_hand(self) -> None:
        features = torch.tensor([[5.0, 9.0]])
        latents = torch.tensor([[0.6, 0.8]])
        mean, std = torch.tensor([2.0, 1.0]), torch.tensor([1.0, 2.0])
        # standardised (3, 4), norm 5: (0.6, 0.8)·(0.6, 0.8) = 1
        unit = random_reward(features, latents, mean, std, unit_norm=True)
        torch.testing.assert_close(unit, torch.tensor([1.0]))
        # without the norm: 3 * 0.6 + 4 * 0.8 = 5
        raw = random_reward(features, latents, mean, std, unit_norm=False)
        torch.testing.assert_close(raw, torch.tensor([5.0]))

    def test_is_linear_in_z(self) -> None:
        generator = torch.Generator().manual_seed(0)
        features = torch.randn(50, 4, generator=generator)
        a, b = torch.randn(2, 50, 4, generator=generator).unbind(0)
        combined = random_reward(features, 2 * a - 3 * b)
        parts = 2 * random_reward(features, a) - 3 * random_reward(features, b)
        torch.testing.assert_close(combined, parts)

    @pytest.mark.parametrize("distribution", ["sphere", "uniform", "normal"])
    def test_has_mean_zero_over_z(self, distribution: str) -> None:
        latents = LATENT_DISTRIBUTIONS[distribution]((200_000, 4), torch.Generator().manual_seed(0))
        rewards = random_reward(torch.tensor([1.0, -2.0, 0.5, 3.0]), latents)
        # |F| has deviation at most 1, so five standard errors are 5 / sqrt(200000) = 0.011.
        assert abs(float(rewards.mean())) < 0.011

    def test_stays_in_range_on_the_sphere(self) -> None:
        generator = torch.Generator().manual_seed(0)
        rewards = random_reward(
            torch.randn(10_000, 3, generator=generator) * 100,
            LATENT_DISTRIBUTIONS["sphere"]((10_000, 3), generator),
        )
        assert float(rewards.abs().max()) <= 1 + 1e-6

    def test_a_feature_of_norm_zero_gives_zero_and_not_nan(self) -> None:
        assert float(random_reward(torch.zeros(4), torch.ones(4))) == 0.0

    def test_features_without_a_direction_pay_nothing(self) -> None:
        """Constant ones, and a single one: each is its own mean, and its deviation is 0."""
        for rows in (1, 7):
            reward = RandomReward(3)
            # 0.1 has no exact binary form: the mean of seven must be it all the same.
            features = torch.tensor([0.1, -2.3, 1e6]).expand(rows, 3)
            reward.observe(features)
            reward.commit()
            assert reward.std.tolist() == pytest.approx([0.0, 0.0, 0.0], abs=1e-9)
            assert reward.reward(features, torch.ones(rows, 3)).tolist() == [0.0] * rows

    def test_one_constant_feature_does_not_drown_the_others(self) -> None:
        # Of (1, 5) and (3, 5): mean (2, 5), deviation (1, 0). Standardised (-1, 0) and (1, 0).
        reward = RandomReward(2)
        features = torch.tensor([[1.0, 5.0], [3.0, 5.0]])
        reward.observe(features)
        reward.commit()
        paid = reward.reward(features, torch.tensor([0.6, 0.8]))
        torch.testing.assert_close(paid, torch.tensor([-0.6, 0.6]))

    def test_a_feature_that_never_varied_gives_no_nan(self) -> None:
        reward = random_reward(torch.ones(2), torch.ones(2), torch.ones(2), torch.zeros(2))
        assert bool(reward.isfinite())

    def test_defaults_are_unit_norm_and_no_standardising(self) -> None:
        reward = random_reward(torch.tensor([3.0, 4.0]), torch.tensor([1.0, 2.0]))
        assert float(reward) == pytest.approx((3 + 8) / 5)
        raw = random_reward(torch.tensor([3.0, 4.0]), torch.tensor([1.0, 2.0]), unit_norm=False)
        assert float(raw) == pytest.approx(3 + 8)

    def test_a_feature_that_never_varied_counts_for_its_distance_from_the_mean(self) -> None:
        reward = random_reward(
            torch.tensor([1.0, 1.0]), torch.ones(2), torch.ones(2), torch.zeros(2), unit_norm=False
        )
        assert float(reward) == 0.0


class TestStatistics:
    SEEN = torch.tensor([[1.0, 10.0], [3.0, 30.0]])
    """Mean (2, 20), population deviation (1, 10)."""
    POINT, Z = torch.tensor([5.0, 60.0]), torch.tensor([1.0, 2.0])

    def test_are_used_from_the_next_commit_on(self) -> None:
        bonus = RandomReward(2, unit_norm=False)
        assert float(bonus.reward(self.POINT, self.Z)) == pytest.approx(5 + 120)
        bonus.observe(self.SEEN)
        assert float(bonus.reward(self.POINT, self.Z)) == pytest.approx(5 + 120)
        bonus.commit()
        # (5 - 2) / 1 = 3 and (60 - 20) / 10 = 4: 3 + 8
        assert float(bonus.reward(self.POINT, self.Z)) == pytest.approx(11)

    def test_reading_changes_nothing_and_observing_twice_counts_twice(self) -> None:
        bonus = RandomReward(2)
        before = bonus.reward(self.SEEN, self.Z)
        assert torch.equal(bonus.reward(self.SEEN, self.Z), before)
        bonus.commit()
        assert float(bonus.moments.count) == 0
        for _ in range(2):
            bonus.observe(self.SEEN)
        bonus.commit()
        assert float(bonus.moments.count) == 4

    def test_are_of_what_is_real(self) -> None:
        bonus = RandomReward(2)
        rows = torch.cat([self.SEEN, torch.full((1, 2), 999.0)])
        bonus.observe(rows, torch.tensor([True, True, False]))
        bonus.commit()
        assert bonus.mean.tolist() == [2, 20]
        assert bonus.std.tolist() == [1, 10]

    def test_can_be_off(self) -> None:
        bonus = RandomReward(2, standardise=False)
        bonus.observe(self.SEEN)
        bonus.commit()
        assert bonus.mean.tolist() == [0, 0]
        assert bonus.std.tolist() == [1, 1]

    def test_a_saved_one_goes_on_with_what_was_pending(self) -> None:
        first, second = RandomReward(2), RandomReward(2)
        first.observe(self.SEEN)
        first.commit()
        first.observe(self.POINT)
        second.load_state_dict(first.state_dict())
        assert torch.equal(second.mean, first.mean)
        for each in (first, second):
            each.commit()
        assert torch.equal(second.mean, first.mean)
        assert second.mean.tolist() == [3, pytest.approx(100 / 3)]


def test_statistics_may_be_pooled_when_they_are_committed() -> None:
    generator = torch.Generator().manual_seed(0)
    here, there = torch.randn(2, 20, 3, generator=generator).unbind(0)

    def pool(moments: RunningMeanStd) -> RunningMeanStd:
        moments.update(there)
        return moments

    one = RandomReward(3)
    one.observe(here)
    one.commit(pool)
    together = torch.cat([here, there])
    torch.testing.assert_close(one.mean, together.mean(0))
    torch.testing.assert_close(one.std, together.std(0, correction=0))
