"""RLE in a run: its distributions, its resampling rule, its features and their statistics."""

import pytest
import torch

from rle.config import RLEConfig
from rle.core.novelty import episodic_novelty
from rle.errors import UsageError
from rle.explore.latents import latent_distribution
from rle.runs.trainer import Trainer
from rle.tasks.base import Step
from tests.builders import small_config


def exponential(shape: tuple[int, ...], generator: torch.Generator) -> torch.Tensor:
    return torch.empty(shape).exponential_(generator=generator)


def one_vector(shape: tuple[int, ...], generator: torch.Generator) -> torch.Tensor:
    return torch.randn(shape[-1], generator=generator)


def no_distribution(shape):
    return torch.zeros(shape)


def bottomless(shape, generator):
    return torch.rand(shape, generator=generator).log() - torch.tensor([0.0, 0.0, torch.inf])


def signs(shape: tuple[int, ...], generator: torch.Generator) -> torch.Tensor:
    return torch.randint(0, 2, shape, generator=generator) * 2.0 - 1.0


def own_features(observation_shape: tuple[int, ...], dimension: int) -> torch.nn.Module:
    return torch.nn.Linear(observation_shape[0], dimension)


def too_wide(observation_shape: tuple[int, ...], dimension: int) -> torch.nn.Module:
    return torch.nn.Linear(observation_shape[0], dimension + 1)


class TestDistributions:
    def test_own_distribution_with_a_mean_is_warned_of(self) -> None:
        with pytest.warns(UserWarning, match="mean zero"):
            latent_distribution("tests.explore.test_rle:exponential", 3)

    def test_own_centred_distribution_is_taken_silently(self) -> None:
        drawn = latent_distribution("tests.explore.test_rle:signs", 3)((2, 3), torch.Generator())
        assert set(drawn.flatten().tolist()) <= {-1.0, 1.0}

    def test_own_distribution_of_the_wrong_shape_is_refused(self) -> None:
        with pytest.raises(UsageError, match="shape"):
            latent_distribution("tests.explore.test_rle:one_vector", 3)

    @pytest.mark.parametrize(
        ("name", "reason"),
        [
            ("no.such.module:distribution", "there is no module 'no' in "),
            ("tests.explore.test_rle:sign", "did you mean 'signs'?"),
            ("tests.explore.test_rle:", "give module:function"),
            (
                "tests.explore.test_rle:no_distribution",
                r"calls no_distribution\(shape, generator\)",
            ),
            ("tests.explore.test_rle:bottomless", "not finite"),
        ],
    )
    def test_distribution_that_cannot_be_used(self, name: str, reason: str) -> None:
        with pytest.raises(UsageError, match=reason):
            latent_distribution(name, 3)

    def test_callable_is_stored_by_name(self) -> None:
        config = RLEConfig(distribution=signs, feature_network=no_distribution)  # type: ignore[arg-type]
        assert config.distribution == "tests.explore.test_rle:signs"
        assert config.feature_network == "tests.explore.test_rle:no_distribution"


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
    assert float(strategy.random_reward.moments.count) == 128
    points = torch.rand(5, 2)
    z = torch.eye(4)
    before = strategy.reward_map(points, z)
    trainer.collect()
    torch.testing.assert_close(strategy.reward_map(points, z), before)
    trainer.learner.prepare(trainer.rollout, strategy)
    assert float(strategy.random_reward.moments.count) == 256
    assert not torch.equal(strategy.reward_map(points, z), before)


def test_warm_up_leaves_no_trace_in_the_environment() -> None:
    trainer = Trainer(small_config("rle", task="fourroom", rle__standardise=True))
    trainer.start()
    assert float(trainer.task.artefacts()["visits"].sum()) == 0
    torch.testing.assert_close(trainer._observation, torch.ones(8, 2))


WHITENED = {
    "rle__whitened_features": 6,
    "rle__standardise": True,
    "rle__unit_norm": False,
    "rle__centre_rarity": False,
    "rle__episodic_rarity": False,
}


class TestWhitenedFeatures:
    def test_pay_for_direction_and_rarity(self) -> None:
        trainer = Trainer(small_config("rle", "gym/CartPole-v1", **WHITENED, rle__rarity=0.5))
        trainer.start()
        strategy = trainer.strategy
        trainer.collect()
        transitions = trainer.rollout.transitions()
        z = transitions.latent
        features = strategy.features(transitions.next_observation)
        assert features.shape[-1] == 6
        directed, rarity = strategy.random_reward.parts(features, z)
        bonus = strategy.bonus(transitions)
        torch.testing.assert_close(bonus[:, 0], directed + 0.5 * rarity)
        # Only what is observed counts, however often its bonus was read.
        assert "rle_following" not in strategy.metrics()
        strategy.observe(transitions)
        followed = strategy.metrics()["rle_following"]
        expected = directed.double().mean() / directed.double().std(correction=0)
        assert followed == pytest.approx(float(expected), rel=1e-5)

    def test_the_rarity_pays_as_far_as_it_is_new_and_above_the_usual(self) -> None:
        settings = {"rle__rarity": 0.5, "rle__centre_rarity": True, "rle__episodic_rarity": True}
        trainer = Trainer(small_config("rle", "gym/CartPole-v1", **{**WHITENED, **settings}))
        trainer.start()
        trainer.iterate()
        strategy, reward = trainer.strategy, trainer.strategy.random_reward
        trainer.collect()
        transitions = trainer.rollout.transitions()
        features = strategy.features(transitions.next_observation)
        directed, rarity = reward.parts(features, transitions.latent)
        new = episodic_novelty((features - reward.mean) @ reward.whitening, transitions.order)
        assert 0 <= new.min() < 0.5 < new.max() <= 1
        usual = reward.usual_rarity.clone()
        assert usual not in (0, 1)
        bonus = strategy.bonus(transitions)
        torch.testing.assert_close(bonus[:, 0], directed + 0.5 * (rarity * new - usual))
        strategy.observe(transitions)
        strategy.after_rollout()
        torch.testing.assert_close(reward.usual_rarity, (rarity * new).mean())

    def test_the_policy_may_see_what_it_was_paid(self) -> None:
        settings = {**WHITENED, "rle__rarity": 0.5, "rle__condition_on_bonus": True}
        trainer = Trainer(small_config("rle", "gym/CartPole-v1", **settings))
        trainer.start()
        trainer.iterate()
        assert trainer.strategy.latent().shape[-1] == trainer.config.rle.dimension + 1

    def test_go_on_from_a_checkpoint_bit_for_bit(self) -> None:
        config = small_config("rle", "gym/CartPole-v1", **WHITENED, rle__rarity=0.5)
        whole, first, second = (Trainer(config) for _ in range(3))
        whole.start()
        first.start()
        for _ in range(4):
            whole.iterate()
        for _ in range(2):
            first.iterate()
        second.load_state_dict(first.state_dict())
        for _ in range(2):
            second.iterate()
        assert torch.equal(second.learner.parameters, whole.learner.parameters)

    @pytest.mark.parametrize(
        ("settings", "reason"),
        [
            ({"whitened_features": 8, "unit_norm": True}, "rle.unit-norm to False"),
            ({"whitened_features": 8, "unit_norm": False, "standardise": False}, "rle.standardise"),
            ({"rarity": 0.5}, "set rle.whitened-features"),
            ({"whitened_features": -1}, "whitened-features"),
        ],
    )
    def test_settings_that_do_not_fit(self, settings: dict, reason: str) -> None:
        with pytest.raises(UsageError, match=reason):
            RLEConfig(**settings)


class TestFading:
    def test_networks_see_as_much_of_z_as_the_bonus_has_of_the_advantages(self) -> None:
        trainer = Trainer(small_config("rle", "gym/CartPole-v1", rle__fade=True))
        trainer.start()
        strategy = trainer.strategy
        z = strategy.latent()
        assert torch.equal(strategy.network_input(z), z)  # before anything is known
        metrics, _ = trainer.iterate()
        share = metrics["advantage_share_rle"]
        assert 0.001 < share < 0.5  # the task pays 1 for every step
        shown = min(1, share / 0.1) ** 4
        assert metrics["rle_latent_shown"] == pytest.approx(shown)
        z = strategy.latent()
        torch.testing.assert_close(strategy.network_input(z), z * shown)

    @pytest.mark.parametrize(
        ("share", "shown"), [(0.01, 0.0001), (0.05, 0.0625), (0.1, 1), (0.9, 1)]
    )
    def test_all_of_it_from_a_share_of_a_tenth_on(self, share: float, shown: float) -> None:
        strategy = Trainer(small_config("rle", "gym/CartPole-v1", rle__fade=True)).strategy
        # What counts is which part is whose, not how large they are.
        strategy.weighed(0.2 * torch.tensor([1 - share, share]))
        assert float(strategy.shown) == pytest.approx(shown)

    def test_beside_what_the_task_has_had_so_far(self) -> None:
        """Nothing, then 0.4, then nothing again: 0, 0.2 and 2 / 15 on average, beside 0.1 each time."""
        strategy = Trainer(small_config("rle", "gym/CartPole-v1", rle__fade=True)).strategy
        shown = []
        for of_task in (0.0, 0.4, 0.0):
            strategy.weighed(torch.tensor([of_task, 0.1]))
            shown.append(float(strategy.shown))
        # The shares are 1, 1/3 and 3/7: from 0.1 on, all of it.
        assert shown == [1, 1, 1]
        strategy.weighed(torch.tensor([8.0, 0.1]))
        # 8.4 / 4 = 2.1 on average; 1/22 of 2.2, over 0.1.
        assert float(strategy.shown) == pytest.approx((1 / 22 / 0.1) ** 4)

    def test_the_bonus_counts_as_much_as_z_is_shown(self) -> None:
        """Both of the policy's and of what the bonus's value is taught."""
        batches, shares = [], []
        for shown in (1.0, 0.25):
            settings = {"rle__fade": True, "rle__coefficient": 0.4}
            trainer = Trainer(small_config("rle", "gym/CartPole-v1", **settings))
            trainer.start()
            trainer.collect()
            trainer.strategy.shown = torch.tensor(shown)
            batch, _, metrics = trainer.learner.prepare(trainer.rollout, trainer.strategy)
            batches.append(batch)
            shares.append(metrics["advantage_share_rle"])
        whole, faded = batches
        of_task, of_bonus = (whole.returns - whole.values).T
        torch.testing.assert_close(whole.advantage, of_task + 0.4 * of_bonus)
        torch.testing.assert_close(faded.advantage, of_task + 0.1 * of_bonus)
        taught = torch.stack([of_task, 0.25 * of_bonus], -1)
        torch.testing.assert_close(faded.returns - faded.values, taught)
        sizes = float(of_task.abs().mean()), float(of_bonus.abs().mean())
        for share, weight in zip(shares, (0.4, 0.1), strict=True):
            expected = weight * sizes[1] / (sizes[0] + weight * sizes[1])
            assert share == pytest.approx(expected, rel=1e-4)

    def test_the_bonus_is_that_of_all_of_z(self) -> None:
        trainer = Trainer(small_config("rle", "gym/CartPole-v1", rle__fade=True))
        trainer.start()
        trainer.iterate()
        trainer.collect()
        transitions = trainer.rollout.transitions()
        paid = trainer.strategy.bonus(transitions)
        trainer.strategy.shown = torch.ones(())
        assert torch.equal(trainer.strategy.bonus(transitions), paid)

    def test_all_of_it_is_shown_while_nothing_else_pays(self) -> None:
        trainer = Trainer(small_config("rle", "fourroom", rle__fade=True, network__value_gain=0.0))
        trainer.start()
        for _ in range(2):
            metrics, _ = trainer.iterate()
        assert metrics["rle_latent_shown"] == 1

    def test_a_rollout_without_advantages_changes_nothing(self) -> None:
        strategy = Trainer(small_config("rle", "gym/CartPole-v1", rle__fade=True)).strategy
        strategy.weighed(torch.tensor([0.95, 0.05]))
        strategy.weighed(torch.tensor([0.0, 0.0]))
        assert float(strategy.shown) == pytest.approx(0.0625)

    def test_another_bonus_is_no_reason_to_hide_it(self) -> None:
        """RND's bonus outweighs RLE's thirty to one; the task pays nothing, and values start at 0."""
        settings = {"rle__fade": True, "rle__coefficient": 0.03, "value_gain": 0.0}
        trainer = Trainer(small_config("rle+rnd", "fourroom", **settings))
        trainer.start()
        for _ in range(2):
            metrics, _ = trainer.iterate()
        assert metrics["advantage_share_task"] == 0
        assert metrics["advantage_share_rle"] < 0.2
        assert metrics["rle_latent_shown"] == 1

    def test_the_previous_bonus_does_not_fade(self) -> None:
        settings = {"rle__fade": True, "rle__episodic_rarity": False}
        settings["rle__condition_on_bonus"] = True
        strategy = Trainer(small_config("rle", "gym/CartPole-v1", **settings)).strategy
        strategy.weighed(torch.tensor([0.95, 0.05]))
        d = strategy.config.dimension
        shown = strategy.network_input(torch.ones(2, d + 1))
        assert shown.tolist() == [[pytest.approx(0.0625)] * d + [1.0]] * 2

    def test_without_a_value_head_of_its_own_all_of_it_is_shown(self) -> None:
        settings = {"rle__fade": True, "rle__separate_streams": False}
        trainer = Trainer(small_config("rle", "gym/CartPole-v1", **settings))
        trainer.start()
        metrics, _ = trainer.iterate()
        z = trainer.strategy.latent()
        assert torch.equal(trainer.strategy.network_input(z), z)
        assert "rle_latent_shown" not in metrics

    def test_goes_on_from_a_checkpoint_bit_for_bit(self) -> None:
        config = small_config("rle", "gym/CartPole-v1", rle__fade=True)
        whole, first, second = (Trainer(config) for _ in range(3))
        whole.start()
        first.start()
        for _ in range(3):
            whole.iterate()
        first.iterate()
        second.load_state_dict(first.state_dict())
        for _ in range(2):
            second.iterate()
        assert torch.equal(second.learner.parameters, whole.learner.parameters)

    def test_another_run_begins_with_as_much_as_was_shown(self) -> None:
        config = small_config("rle", "gym/CartPole-v1", rle__fade=True)
        first, second = Trainer(config), Trainer(config)
        first.start()
        first.iterate()
        assert first.strategy.shown < 1
        second.strategy.begin_with(first.strategy.state_dict())
        assert torch.equal(second.strategy.shown, first.strategy.shown)
