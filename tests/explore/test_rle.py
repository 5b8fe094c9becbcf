"""RLE's bonus, laws and resampling rule."""

import pytest
import torch

from rle.config import RLEConfig
from rle.errors import UsageError
from rle.explore.latents import LAWS, latent_law
from rle.explore.rle import random_reward
from rle.nets.features import FeatureNetwork
from rle.nets.layers import MLP
from rle.runs.trainer import Trainer
from rle.tasks.base import Step
from tests.builders import small_config


def exponential(shape: tuple[int, ...], generator: torch.Generator) -> torch.Tensor:
    return torch.empty(shape).exponential_(generator=generator)


def one_vector(shape: tuple[int, ...], generator: torch.Generator) -> torch.Tensor:
    return torch.randn(shape[-1], generator=generator)


def no_law(shape):
    return torch.zeros(shape)


def bottomless(shape, generator):
    return torch.rand(shape, generator=generator).log() - torch.tensor([0.0, 0.0, torch.inf])


def signs(shape: tuple[int, ...], generator: torch.Generator) -> torch.Tensor:
    return torch.randint(0, 2, shape, generator=generator) * 2.0 - 1.0


def own_features(observation_shape: tuple[int, ...], dimension: int) -> torch.nn.Module:
    return torch.nn.Linear(observation_shape[0], dimension)


def too_wide(observation_shape: tuple[int, ...], dimension: int) -> torch.nn.Module:
    return torch.nn.Linear(observation_shape[0], dimension + 1)


class TestRandomReward:
    def test_by_hand(self) -> None:
        features = torch.tensor([[5.0, 9.0]])
        latents = torch.tensor([[0.6, 0.8]])
        mean, deviation = torch.tensor([2.0, 1.0]), torch.tensor([1.0, 2.0])
        # standardised (3, 4), norm 5: (0.6, 0.8)·(0.6, 0.8) = 1
        unit = random_reward(features, latents, mean, deviation, unit_norm=True)
        torch.testing.assert_close(unit, torch.tensor([1.0]))
        # without the norm: 3 * 0.6 + 4 * 0.8 = 5
        raw = random_reward(features, latents, mean, deviation, unit_norm=False)
        torch.testing.assert_close(raw, torch.tensor([5.0]))

    def test_is_linear_in_z(self) -> None:
        generator = torch.Generator().manual_seed(0)
        features = torch.randn(50, 4, generator=generator)
        a, b = torch.randn(2, 50, 4, generator=generator).unbind(0)
        combined = random_reward(features, 2 * a - 3 * b)
        parts = 2 * random_reward(features, a) - 3 * random_reward(features, b)
        torch.testing.assert_close(combined, parts)

    @pytest.mark.parametrize("law", ["sphere", "uniform", "normal"])
    def test_has_mean_zero_over_z(self, law: str) -> None:
        latents = LAWS[law]((200_000, 4), torch.Generator().manual_seed(0))
        rewards = random_reward(torch.tensor([1.0, -2.0, 0.5, 3.0]), latents)
        # |F| has deviation at most 1, so five standard errors are 5 / sqrt(200000) = 0.011.
        assert abs(float(rewards.mean())) < 0.011

    def test_stays_in_range_on_the_sphere(self) -> None:
        generator = torch.Generator().manual_seed(0)
        rewards = random_reward(
            torch.randn(10_000, 3, generator=generator) * 100,
            LAWS["sphere"]((10_000, 3), generator),
        )
        assert float(rewards.abs().max()) <= 1 + 1e-6

    def test_a_feature_of_norm_zero_gives_zero_and_not_nan(self) -> None:
        assert float(random_reward(torch.zeros(4), torch.ones(4))) == 0.0

    def test_a_feature_that_never_varied_gives_no_nan(self) -> None:
        reward = random_reward(torch.ones(2), torch.ones(2), torch.ones(2), torch.zeros(2))
        assert bool(reward.isfinite())


class TestLaws:
    def test_moments(self) -> None:
        generator = torch.Generator().manual_seed(0)
        sphere, uniform, normal = (
            LAWS[name]((100_000, 3), generator) for name in ("sphere", "uniform", "normal")
        )
        torch.testing.assert_close(sphere.norm(dim=-1), torch.ones(100_000))
        assert float(uniform.min()) >= -0.5
        assert float(uniform.max()) <= 0.5
        # E z_i²: 1/d on the sphere, 1/12 uniform, 1 normal
        for drawn, second_moment in ((sphere, 1 / 3), (uniform, 1 / 12), (normal, 1.0)):
            torch.testing.assert_close(
                drawn.square().mean(0), torch.full((3,), second_moment), atol=0.02, rtol=0
            )

    def test_own_law_with_a_mean_is_warned_of(self) -> None:
        with pytest.warns(UserWarning, match="mean zero"):
            latent_law("tests.explore.test_rle:exponential", 3)

    def test_own_centred_law_is_taken_silently(self) -> None:
        drawn = latent_law("tests.explore.test_rle:signs", 3)((2, 3), torch.Generator())
        assert set(drawn.flatten().tolist()) <= {-1.0, 1.0}

    def test_own_law_of_the_wrong_shape_is_refused(self) -> None:
        with pytest.raises(UsageError, match="shape"):
            latent_law("tests.explore.test_rle:one_vector", 3)

    @pytest.mark.parametrize(
        ("name", "reason"),
        [
            ("no.such.module:law", "there is no module 'no' in "),
            ("tests.explore.test_rle:sign", "did you mean 'signs'?"),
            ("tests.explore.test_rle:", "give module:function"),
            ("tests.explore.test_rle:no_law", r"calls no_law\(shape, generator\)"),
            ("tests.explore.test_rle:bottomless", "not finite"),
        ],
    )
    def test_law_that_cannot_be_used(self, name: str, reason: str) -> None:
        with pytest.raises(UsageError, match=reason):
            latent_law(name, 3)

    def test_callable_is_stored_by_name(self) -> None:
        config = RLEConfig(law=signs, feature_network=no_law)  # type: ignore[arg-type]
        assert config.law == "tests.explore.test_rle:signs"
        assert config.feature_network == "tests.explore.test_rle:no_law"


def make_strategy(**settings: object):
    settings = {"num_envs": 3, "rollout_steps": 16, "minibatches": 2} | settings
    trainer = Trainer(small_config("rle", task="fourroom", **settings))
    trainer.start()
    trainer.strategy.draw(16)
    return trainer.strategy


def outcome(ended: list[int], kind: str = "terminated", real: list[int] | None = None) -> Step:
    flags = torch.tensor(ended, dtype=torch.bool)
    never = torch.zeros_like(flags)
    observation = torch.zeros(len(ended), 2)
    return Step(
        torch.zeros(len(ended)),
        flags if kind == "terminated" else never,
        flags if kind == "truncated" else never,
        observation,
        observation,
        None if real is None else torch.tensor(real, dtype=torch.bool),
    )


class TestResampling:
    def test_after_s_steps_all_environments_switch(self) -> None:
        strategy = make_strategy(rle__resample_every=3)
        first = strategy.latent().clone()
        cuts = []
        for _ in range(3):
            torch.testing.assert_close(strategy.latent(), first)
            cuts.append(strategy.after_step(outcome([0, 0, 0])).squeeze(-1).tolist())
        assert cuts == [[False] * 3, [False] * 3, [True] * 3]
        assert bool((strategy.latent() != first).all())

    @pytest.mark.parametrize("kind", ["terminated", "truncated"])
    def test_an_episodes_end_switches_that_environment_and_restarts_its_count(self, kind) -> None:
        strategy = make_strategy(rle__resample_every=3)
        first = strategy.latent().clone()
        assert strategy.after_step(outcome([0, 1, 0], kind)).squeeze(-1).tolist() == [0, 1, 0]
        changed = (strategy.latent() != first).any(-1).tolist()
        assert changed == [False, True, False]
        second = strategy.latent().clone()
        strategy.after_step(outcome([0, 0, 0]))
        assert strategy.after_step(outcome([0, 0, 0])).squeeze(-1).tolist() == [1, 0, 1]
        assert (strategy.latent() != second).any(-1).tolist() == [True, False, True]
        assert strategy.after_step(outcome([0, 0, 0])).squeeze(-1).tolist() == [0, 1, 0]

    def test_a_call_that_only_resets_is_not_a_step(self) -> None:
        strategy = make_strategy(rle__resample_every=2)
        strategy.after_step(outcome([0, 0, 0], real=[1, 0, 1]))
        cut = strategy.after_step(outcome([0, 0, 0], real=[1, 1, 1]))
        assert cut.squeeze(-1).tolist() == [True, False, True]

    def test_staggered_countdowns_do_not_switch_in_step(self) -> None:
        strategy = make_strategy(num_envs=64, rle__resample_every=16, rle__stagger=True)
        switches = torch.stack(
            [strategy.after_step(outcome([0] * 64)).squeeze(-1) for _ in range(16)]
        )
        # The first switch of 64 environments falls on many different steps of the first 16.
        assert int(switches.any(1).sum()) > 8
        assert bool((switches.sum(0) >= 1).all())


class TestPreviousBonus:
    def test_is_the_bonus_just_earned_and_zero_under_a_new_z(self) -> None:
        strategy = make_strategy(rle__condition_on_bonus=True, rle__resample_every=2)
        z = strategy.latent()[:, :4].clone()
        assert bool((strategy.latent()[:, 4] == 0).all())
        there = torch.tensor([[0.3, -0.2], [0.9, 0.1], [-1.0, 1.0]])
        step = outcome([0, 0, 0])._replace(next_observation=there, observation=there)
        strategy.after_step(step)
        expected = strategy.reward_map(there, z).diagonal()
        torch.testing.assert_close(strategy.latent()[:, 4], expected)
        assert bool((expected != 0).all())
        strategy.after_step(step)
        assert bool((strategy.latent()[:, 4] == 0).all())


class TestFeatures:
    def test_backbone_follows_the_value_network_and_the_projection_stays(self) -> None:
        source = torch.Generator().manual_seed(0)
        features = FeatureNetwork(MLP(2, (4,), "tanh", source), 3, source)
        value = MLP(2 + 3, (4,), "tanh", torch.Generator().manual_seed(1))
        before = features.body.layers[0].weight.clone()
        projection = features.projection.weight.clone()
        features.follow(value, 0.25)
        expected = 0.75 * before + 0.25 * value.layers[0].weight[:, :2]
        torch.testing.assert_close(features.body.layers[0].weight, expected)
        torch.testing.assert_close(features.projection.weight, projection)

    @pytest.mark.parametrize(("when", "times"), [("minibatch", 16), ("iteration", 1)])
    def test_follows_as_often_as_asked(self, when: str, times: int) -> None:
        config = small_config(
            "rle", rle__feature_hidden=None, rle__feature_update_rate=0.5, rle__feature_update=when,
            rle__feature_activation="tanh",
        )  # fmt: skip
        trainer = Trainer(config)
        trainer.start()
        calls = 0
        follow = trainer.strategy.features.follow

        def count(*arguments: object) -> None:
            nonlocal calls
            calls += 1
            follow(*arguments)

        trainer.strategy.features.follow = count
        metrics, _ = trainer.iterate()
        assert calls == times
        assert metrics["rle_feature_movement"] > 0

    def test_follows_the_backbone_that_does_not_see_z(self) -> None:
        config = small_config(
            "rle", value_hidden=(16, 12, 10), value_backbone=2, rle__feature_hidden=None,
            rle__feature_update_rate=1.0,
        )  # fmt: skip
        trainer = Trainer(config)
        trainer.start()
        trainer.iterate()
        body, value_body = trainer.strategy.features.body, trainer.network.value_body
        assert [tuple(layer.weight.shape) for layer in body.layers] == [(16, 2), (12, 16)]
        for mine, theirs in zip(body.parameters(), value_body.parameters(), strict=True):
            torch.testing.assert_close(mine, theirs)

    def test_a_shallower_network_follows_the_first_layers(self) -> None:
        config = small_config(
            "rle", value_hidden=(16, 12), rle__feature_hidden=(16,), rle__feature_update_rate=1.0,
            rle__feature_activation="tanh",
        )  # fmt: skip
        trainer = Trainer(config)
        trainer.start()
        trainer.iterate()
        first = trainer.network.value_body.layers[0].weight
        torch.testing.assert_close(trainer.strategy.features.body.layers[0].weight, first[:, :2])

    def test_shapes_that_do_not_fit_are_refused(self) -> None:
        config = small_config("rle", rle__feature_update_rate=0.1, rle__feature_hidden=(7,))
        with pytest.raises(UsageError, match="value network's shape"):
            Trainer(config)

    def test_own_network_depends_on_the_seed_alone(self) -> None:
        path = "tests.explore.test_rle:own_features"
        first, second, other = (
            Trainer(small_config("rle", rle__feature_network=path, seed=seed)) for seed in (0, 0, 1)
        )
        weights = [trainer.strategy.features.weight for trainer in (first, second, other)]
        assert torch.equal(weights[0], weights[1])
        assert not torch.equal(weights[0], weights[2])

    def test_own_network_of_the_wrong_width_is_refused(self) -> None:
        path = "tests.explore.test_rle:too_wide"
        with pytest.raises(UsageError, match=r"instead of \(2, 4\)"):
            Trainer(small_config("rle", rle__feature_network=path))

    def test_frozen_features_never_change(self) -> None:
        trainer = Trainer(small_config("rle"))
        trainer.start()
        before = [p.clone() for p in trainer.strategy.features.parameters()]
        trainer.iterate()
        for old, new in zip(before, trainer.strategy.features.parameters(), strict=True):
            assert bool((old == new).all())


def test_statistics_start_from_random_actions_and_change_only_between_rollouts() -> None:
    trainer = Trainer(small_config("rle", task="fourroom", rle__standardise=True))
    trainer.start()
    strategy = trainer.strategy
    # 8 environments x 16 steps of warm-up
    assert float(strategy._moments.count) == 128
    points = torch.rand(5, 2)
    z = torch.eye(4)
    before = strategy.reward_map(points, z)
    trainer.collect()
    torch.testing.assert_close(strategy.reward_map(points, z), before)
    trainer.learner.prepare(trainer.rollout, strategy)
    assert float(strategy._moments.count) == 256
    assert not torch.equal(strategy.reward_map(points, z), before)


def test_warm_up_leaves_no_trace_in_the_environment() -> None:
    trainer = Trainer(small_config("rle", task="fourroom", rle__standardise=True))
    trainer.start()
    assert float(trainer.task.artefacts()["visits"].sum()) == 0
    torch.testing.assert_close(trainer._observation, torch.ones(8, 2))
