"""Who follows which z, what is paid for it and what is kept of it, against plain loops."""

from types import SimpleNamespace

import pytest
import torch
from torch import Tensor, nn

from rle.core.distributions import LATENT_DISTRIBUTIONS
from rle.errors import UsageError
from rle.explore.latents import latent_distribution, load_function
from rle.explore.registry import make_strategy
from rle.explore.rle import RandomLatentExploration
from rle.randomness import generator
from rle.runs.trainer import Trainer
from rle.tasks.base import Discrete, Step, TaskSpec
from tests.builders import into, small_config

D = 4


def strategy_of(**settings: object) -> RandomLatentExploration:
    settings = {
        "num_envs": 3,
        "task": "fourroom",
        "rle__dimension": D,
        "rle__standardise": True,
    } | settings
    trainer = Trainer(small_config("rle", **settings))
    trainer.start()
    return trainer.strategy


def step_of(ended: list[int], where: Tensor, real: list[int] | None = None) -> Step:
    flags = torch.tensor(ended, dtype=torch.bool)
    return Step(
        torch.zeros(len(ended)),
        flags,
        torch.zeros_like(flags),
        where,
        where,
        None if real is None else torch.tensor(real, dtype=torch.bool),
    )


@pytest.mark.parametrize("sees_bonus", [False, True])
@torch.no_grad()
def test_z_countdown_and_previous_bonus_step_by_step(sees_bonus: bool) -> None:
    """One environment at a time, in two blocks of draws, with ends and with calls that only reset."""
    strategy = strategy_of(
        rle__resample_every=3, rle__standardise=False, rle__condition_on_bonus=sees_bonus
    )
    source = torch.Generator().manual_seed(0)
    z = strategy.latent()[:, :D].tolist()
    left, previous, paid = [3, 3, 3], [0.0, 0.0, 0.0], []
    assert strategy.latent_size == strategy.input_size == D + sees_bonus
    for block in range(2):
        strategy.draw(6)
        fresh = strategy._fresh.tolist()
        for t in range(6):
            real = [int(torch.rand((), generator=source) > 0.2) for _ in range(3)]
            ended = [int(r and torch.rand((), generator=source) < 0.2) for r in real]
            where = torch.rand(3, 2, generator=source) * 2 - 1
            cut = strategy.after_step(step_of(ended, where, None if block == 0 else real))
            if block == 0:
                real = [1, 1, 1]
            features = strategy.features(where).tolist()
            for n in range(3):
                norm = sum(f * f for f in features[n]) ** 0.5
                earned = sum(f * c for f, c in zip(features[n], z[n], strict=True)) / norm
                paid.append(earned)
                left[n] -= real[n]
                previous[n] = earned if real[n] else previous[n]
                switches = bool(ended[n]) or left[n] == 0
                assert bool(cut[n, 0]) is switches
                if switches:
                    z[n], left[n], previous[n] = fresh[t][n], 3, 0.0
                found = strategy.latent()[n].tolist()
                expected = z[n] + ([previous[n]] if sees_bonus else [])
                assert found == pytest.approx(expected, abs=1e-5)
    if sees_bonus:
        torch.testing.assert_close(strategy.paid().flatten(), torch.tensor(paid))
        strategy.begin_rollout(SimpleNamespace(fused=False))
    assert strategy.paid() is None


def test_every_block_of_draws_is_used_from_its_beginning() -> None:
    strategy = strategy_of(rle__resample_every=1)
    where = torch.zeros(3, 2)
    for steps in (1, 3, 2):
        strategy.draw(steps)
        assert strategy._fresh.shape == (steps, 3, D)
        for t in range(steps):
            strategy.after_step(step_of([0, 0, 0], where))
            assert torch.equal(strategy.latent(), strategy._fresh[t])


def test_the_first_z_is_drawn_from_the_distribution_with_the_seed() -> None:
    strategy = strategy_of(rle__distribution="normal")
    expected = LATENT_DISTRIBUTIONS["normal"]((1, 3, D), generator(0, "latents"))[0]
    assert torch.equal(strategy.latent(), expected)
    assert strategy._countdown.tolist() == [5, 5, 5]
    # A new run begins with no previous bonus.
    strategy = strategy_of(rle__condition_on_bonus=True)
    strategy._latent.fill_(9.0)
    strategy.start(None)
    assert strategy.latent()[:, D].tolist() == [0.0, 0.0, 0.0]


def test_staggered_countdowns_are_uniform_between_one_and_all_steps() -> None:
    strategy = strategy_of(
        num_envs=4096, rle__resample_every=4, rle__stagger=True, rle__standardise=False
    )
    counts = torch.bincount(strategy._countdown, minlength=6).tolist()
    assert counts[0] == counts[5] == 0
    # Each count is binomial with mean 1024 and deviation 28.
    assert all(abs(count - 1024) < 140 for count in counts[1:5])


def test_serving_another_number_of_environments() -> None:
    strategy = strategy_of()
    strategy.serve(5)
    assert strategy.latent().tolist() == [[0.0] * D] * 5
    strategy.start(None)
    assert strategy.latent().shape == (5, D)
    assert bool((strategy.latent().norm(dim=-1) > 0.99).all())
    strategy.draw(2)
    assert strategy._fresh.shape == (2, 5, D)


def test_a_pinned_z_is_followed_whatever_ends_until_others_are_served() -> None:
    strategy = strategy_of(rle__resample_every=2)
    pinned = torch.arange(2.0 * D).view(2, D)
    strategy.pin(pinned)
    strategy.start(None)
    strategy.draw(4)
    for ended in ([0, 0], [1, 0], [0, 1], [1, 1]):
        assert torch.equal(strategy.latent(), pinned)
        strategy.after_step(step_of(ended, torch.zeros(2, 2)))
    assert torch.equal(strategy.latent(), pinned)
    strategy.serve(2)
    strategy.start(None)
    assert not torch.equal(strategy.latent(), pinned)


def test_reseeding_repeats_every_later_z() -> None:
    first, second = strategy_of(), strategy_of(seed=1)
    for strategy in (first, second):
        strategy.reseed(7)
        strategy.start(None)
        strategy.draw(3)
    assert torch.equal(first.latent(), second.latent())
    assert torch.equal(first._fresh, second._fresh)


def test_latents_of_the_callers_leave_the_strategys_alone() -> None:
    strategy, undisturbed = strategy_of(), strategy_of()
    drawn = strategy.sample_latents(6, torch.Generator().manual_seed(3))
    assert torch.equal(
        drawn, LATENT_DISTRIBUTIONS["sphere"]((6, D), torch.Generator().manual_seed(3))
    )
    for each in (strategy, undisturbed):
        each.draw(1)
    assert torch.equal(strategy._fresh, undisturbed._fresh)


@torch.no_grad()
def test_the_reward_map_has_a_row_for_every_z_and_a_column_for_every_place() -> None:
    strategy = strategy_of()
    places = torch.rand(5, 2)
    latents = torch.randn(3, D)
    statistics = strategy.random_reward
    features = (strategy.features(places) - statistics.mean) / statistics.std
    features = features / features.norm(dim=-1, keepdim=True)
    torch.testing.assert_close(strategy.reward_map(places, latents), latents @ features.T)


def test_looking_at_a_bonus_changes_nothing() -> None:
    strategy = strategy_of(rle__standardise=True)
    statistics = strategy.random_reward
    before, count = statistics.mean.clone(), float(statistics.moments.count)
    made = into(torch.rand(9, 2), torch.randn(9, D))
    first = strategy.bonus(made)
    assert torch.equal(strategy.bonus(made), first)
    strategy.after_rollout()
    assert float(statistics.moments.count) == count
    assert torch.equal(statistics.mean, before)


@pytest.mark.parametrize("asked_before", [False, True])
def test_what_is_observed_is_used_once_the_rollout_is_over(asked_before: bool) -> None:
    strategy = strategy_of(rle__standardise=True)
    statistics = strategy.random_reward
    before, count = statistics.mean.clone(), float(statistics.moments.count)
    made = into(torch.rand(9, 2), torch.randn(9, D))
    if asked_before:
        strategy.bonus(into(torch.rand(9, 2), torch.randn(9, D)))
    strategy.observe(made)
    assert torch.equal(statistics.mean, before)
    strategy.after_rollout()
    assert float(statistics.moments.count) == count + 9
    with torch.no_grad():
        seen = strategy.features(made.next_observation).double()
    expected = (count * before.double() + seen.sum(0)) / (count + 9)
    torch.testing.assert_close(statistics.mean, expected.float())


def test_what_is_not_unit_norm_is_not_divided() -> None:
    strategy = strategy_of(rle__standardise=False, rle__unit_norm=False)
    where, z = torch.rand(9, 2), torch.randn(9, D)
    with torch.no_grad():
        expected = (strategy.features(where) * z).sum(-1, keepdim=True)
    torch.testing.assert_close(strategy.bonus(into(where, z)), expected)


def test_without_conditioning_the_networks_get_nothing() -> None:
    strategy = strategy_of(rle__condition=False)
    assert strategy.network_input(strategy.latent()) is None
    assert strategy.input_size == 0
    assert strategy.latent_size == D


def test_movement_of_the_features_by_hand() -> None:
    settings = {"rle__feature_hidden": None, "rle__feature_update_rate": 0.5}
    strategy = strategy_of(**settings)
    start = nn.utils.parameters_to_vector(strategy.features.parameters()).clone()
    assert strategy.metrics() == {"rle_feature_movement": 0.0}
    with torch.no_grad():
        for parameter in strategy.features.parameters():
            parameter += 0.1
    expected = (0.01 * len(start)) ** 0.5 / float(start.square().sum()) ** 0.5
    assert strategy.metrics() == {"rle_feature_movement": pytest.approx(expected, rel=1e-4)}
    assert strategy_of().metrics() == {}


def test_a_saved_strategy_goes_on_where_it_was() -> None:
    settings = {"rle__feature_hidden": None, "rle__feature_update_rate": 0.5}
    first, second = strategy_of(**settings), strategy_of(**settings, seed=1)
    with torch.no_grad():
        for parameter in first.features.parameters():
            parameter += 0.1
    first.draw(1)
    first.after_step(step_of([1, 0, 0], torch.zeros(3, 2)))
    state = first.state_dict()
    second.load_state_dict(state)
    where, z = torch.rand(6, 2), torch.randn(2, D)
    assert torch.equal(first.reward_map(where, z), second.reward_map(where, z))
    assert first.metrics() == second.metrics()
    for name in ("_latent", "_countdown"):
        assert torch.equal(getattr(first, name), getattr(second, name)), name
    for name in ("mean", "std"):
        assert torch.equal(*(getattr(each.random_reward, name) for each in (first, second))), name
    assert float(second.random_reward.moments.count) == float(first.random_reward.moments.count) > 0
    for strategy in (first, second):
        strategy.draw(2)
    assert torch.equal(first._fresh, second._fresh)


class TestDistributions:
    @pytest.mark.parametrize(("offset", "warns"), [(0.0, False), (0.078, False), (0.0785, True)])
    def test_five_standard_errors(
        self, offset: float, warns: bool, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """±1, half of 4096 each: the standard error is 1/64, five of them 0.0781."""

        def distribution(shape: tuple[int, ...], source: torch.Generator) -> Tensor:
            signs = torch.ones(shape)
            signs[::2] = -1
            return signs + offset

        monkeypatch.setitem(globals(), "distribution_under_test", distribution)
        if warns:
            with pytest.warns(UserWarning, match="mean zero"):
                latent_distribution(f"{__name__}:distribution_under_test", D)
        else:
            latent_distribution(f"{__name__}:distribution_under_test", D)

    def test_what_is_no_function_is_refused(self) -> None:
        with pytest.raises(UsageError, match="has no function 'pi'"):
            load_function(
                "math:pi", "rle.distribution", ("shape", "generator"), "rle.distributions"
            )

    def test_a_distribution_that_returns_no_tensor_is_refused(self) -> None:
        with pytest.raises(UsageError, match="must return a tensor"):
            latent_distribution("tests.explore.test_rle_following:no_tensor", D)

    def test_an_unknown_distribution_is_told_the_nearest(self) -> None:
        with pytest.raises(UsageError, match=r"rle\.distribution is 'spere'.*sphere"):
            latent_distribution("spere", D)

    def test_distributions_by_name(self) -> None:
        for name, distribution in LATENT_DISTRIBUTIONS.items():
            assert latent_distribution(name, D) is distribution


def no_tensor(shape: tuple[int, ...], source: torch.Generator) -> list[float]:
    return [0.0]


def no_module(observation_shape: tuple[int, ...], dimension: int) -> str:
    return "features"


def test_own_features_that_are_no_module_are_refused() -> None:
    path = "tests.explore.test_rle_following:no_module"
    with pytest.raises(UsageError, match="must return a torch module"):
        Trainer(small_config("rle", rle__feature_network=path))


def test_own_features_leave_the_global_generator_alone() -> None:
    config = small_config("rle", rle__feature_network="tests.explore.test_rle:own_features")
    before = torch.get_rng_state()
    make_strategy(config, TaskSpec(8, (2,), torch.float32, Discrete(4)), torch.device("cpu"))
    assert torch.equal(torch.get_rng_state(), before)
