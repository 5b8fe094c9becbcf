"""The strategy that does nothing, streams as strategies declare them, and what cannot be built."""

import dataclasses

import pytest
import torch

from rle.errors import UsageError
from rle.explore.base import Strategy, Stream
from rle.explore.mixture import Mixture
from rle.explore.registry import check_strategy_name, make_strategy, strategy_names
from rle.runs.trainer import Trainer
from rle.tasks.base import Discrete, TaskSpec
from tests.builders import into, small_config

SPEC = TaskSpec(8, (2,), torch.float32, Discrete(4))
CPU = torch.device("cpu")


def test_the_strategy_that_does_nothing() -> None:
    strategy = Strategy()
    assert strategy.streams == ()
    assert strategy.latent_size == strategy.input_size == strategy.warmup_rollouts == 0
    assert strategy.auxiliary is None
    assert strategy.latent() is None
    assert strategy.network_input(torch.zeros(1, 2)) is None
    assert strategy.after_step(None) is None
    assert strategy.paid() is None
    assert strategy.metrics() == {}
    assert strategy.state_dict() == {}
    layer = strategy.linear(2, 3)
    assert type(layer) is torch.nn.Linear
    assert layer.weight.shape == (3, 2)
    for question in (
        lambda: strategy.bonus(into(torch.zeros(1, 2))),
        lambda: strategy.auxiliary_loss(into(torch.zeros(1, 2))),
    ):
        with pytest.raises(NotImplementedError):
            question()
    assert strategy.trained() == ()
    # Of four real transitions in a minibatch of ten, some are taken more than once.
    assert strategy.auxiliary_rows(torch.arange(4), 10).tolist() == [0, 1, 2, 3, 0, 1, 2, 3, 0, 1]
    chosen = torch.arange(3)
    assert strategy.action(chosen) is chosen


def stream(explore: str, **settings: object) -> Stream:
    (found,) = make_strategy(small_config(explore, **settings), SPEC, CPU).streams
    return found


def test_streams_are_what_the_settings_say() -> None:
    numbers = {"coefficient": 0.3, "discount": 0.7, "value_coefficient": 0.2, "scale_bonus": False}
    for name in ("rle", "rnd"):
        settings = {f"{name}__{key}": value for key, value in numbers.items()}
        expected = Stream(name, 0.3, 0.7, 0.2, scale=False, separate=True)
        assert stream(name, discount=0.9, **settings) == expected
    # Added to the task reward, it is discounted with it.
    settings = {f"rle__{key}": value for key, value in numbers.items()}
    joined = stream("rle", discount=0.9, **settings, rle__separate_streams=False)
    assert joined == Stream("rle", 0.3, 0.9, 0.2, scale=False, separate=False)
    noise = stream("white-noise", discount=0.9, white_noise__coefficient=0.3)
    assert noise == Stream("white-noise", 0.3, 0.9, 0.0, scale=False, separate=False)


@pytest.mark.parametrize("name", ["rle", "rnd", "white-noise"])
def test_a_strategy_that_counts_for_nothing_asks_for_nothing(name: str) -> None:
    config = small_config(name, **{f"{name.replace('-', '_')}__coefficient": 0.0})
    strategy = make_strategy(config, SPEC, CPU)
    assert strategy.streams == ()
    assert strategy.input_size == 0
    assert strategy.auxiliary is None
    assert strategy.warmup_rollouts == 0


def test_warm_up_is_as_long_as_asked() -> None:
    for name in ("rle", "rnd"):
        settings = {f"{name}__warmup_rollouts": 3, "rle__standardise": True}
        settings = {key: value for key, value in settings.items() if key.startswith(name)}
        assert make_strategy(small_config(name, **settings), SPEC, CPU).warmup_rollouts == 3


@pytest.mark.parametrize("name", ["rle", "rnd", "noisy", "white-noise"])
def test_a_strategy_without_its_settings_is_one_sentence(name: str) -> None:
    config = small_config(name)
    bare = dataclasses.replace(config)
    object.__setattr__(bare, name.replace("-", "_"), None)
    with pytest.raises(UsageError, match=f"explore is '{name}' but the configuration has no"):
        make_strategy(bare, SPEC, CPU)


def test_every_name_that_is_listed_can_be_built() -> None:
    for name in strategy_names():
        check_strategy_name(name)
        assert not isinstance(make_strategy(small_config(name), SPEC, CPU), Mixture)
    mixture = make_strategy(small_config("rnd+rle"), SPEC, CPU)
    assert isinstance(mixture, Mixture)
    assert list(mixture.parts) == ["rnd", "rle"]
    assert [found.name for found in mixture.streams] == ["rnd", "rle"]


def test_bad_names_say_what_is_wrong() -> None:
    with pytest.raises(UsageError, match="there is no strategy 'rlee'"):
        check_strategy_name("rlee")
    for name in ("rle+rle", "rle+none", "none+rnd"):
        with pytest.raises(UsageError, match="must name different strategies other than none"):
            check_strategy_name(name)
    with pytest.raises(UsageError, match="there is no strategy"):
        make_strategy(dataclasses.replace(small_config("rle"), explore="rle+x"), SPEC, CPU)


class TestNoisyNet:
    def test_every_rollout_has_its_own_noise_from_the_seed_alone(self) -> None:
        def noise(seed: int, reseeded: int | None = None) -> list[torch.Tensor]:
            trainer = Trainer(small_config("noisy", seed=seed))
            if reseeded is not None:
                trainer.strategy.reseed(reseeded)
            found = []
            for _ in range(2):
                trainer.strategy.begin_rollout(trainer.network)
                found.append(trainer.network.policy_head.weight_noise.clone())
            return found

        first, second = noise(0)
        assert not torch.equal(first, second)
        again = noise(0)
        assert torch.equal(again[0], first)
        assert torch.equal(again[1], second)
        assert not torch.equal(noise(1)[0], first)
        assert torch.equal(noise(1, reseeded=0)[0], first)

    def test_only_greedy_evaluation_is_silent(self) -> None:
        trainer = Trainer(small_config("noisy"))
        for greedy, silent in ((False, False), (True, True), (False, False)):
            trainer.strategy.evaluate(greedy)
            trainer.strategy.begin_rollout(trainer.network)
            for layer in (trainer.network.policy_head, trainer.network.value_heads[0]):
                assert bool((layer.weight_noise == 0).all()) is silent
                assert bool((layer.bias_noise == 0).all()) is silent

    def test_reports_the_mean_size_of_its_deviations(self) -> None:
        trainer = Trainer(small_config("noisy"))
        with torch.no_grad():
            trainer.network.policy_head.weight_std.fill_(-0.5)
            trainer.network.value_heads[0].weight_std.fill_(0.1)
        trainer.strategy.after_update(trainer.network)
        assert trainer.strategy.metrics() == {"noisy_std": pytest.approx(0.3)}

    def test_goes_on_from_a_saved_state(self) -> None:
        first, second = Trainer(small_config("noisy")), Trainer(small_config("noisy", seed=1))
        first.strategy.begin_rollout(first.network)
        second.strategy.load_state_dict(first.strategy.state_dict())
        for trainer in (first, second):
            trainer.strategy.begin_rollout(trainer.network)
        noises = [trainer.network.policy_head.weight_noise for trainer in (first, second)]
        assert torch.equal(*noises)
