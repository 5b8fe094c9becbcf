"""Every number of the paper's FourRoom table, line by line."""

import pytest

from rle.config import RunConfig
from rle.presets import preset_config
from rle.runs.trainer import Trainer


@pytest.fixture(params=["fourroom", "fourroom-sparse", "fourroom-noisytv"])
def task(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def shared_numbers(config: RunConfig) -> None:
    assert config.total_steps == 2_500_000
    assert config.learner.learning_rate == 0.001
    assert config.learner.adam_epsilon == 0.00001
    assert config.environment.num_envs == 32
    assert config.learner.rollout_steps == 128
    assert config.learner.discount == 0.99
    assert config.learner.gae_lambda == 0.95
    assert config.learner.minibatches == 4
    assert config.learner.epochs == 4
    assert config.learner.clip == 0.2
    assert config.learner.value_coefficient == 0.5
    assert config.learner.max_gradient_norm == 0.5
    assert config.learner.normalise_advantages is True
    assert config.learner.clip_value_loss is True
    assert config.network.policy_hidden == (64, 64)
    assert config.network.value_hidden == (64, 64)
    assert config.network.activation == "tanh"


@pytest.mark.parametrize("explore", ["none", "rle", "rnd", "noisy", "white-noise", "random"])
def test_ppo_rows_hold_for_every_method(task: str, explore: str) -> None:
    shared_numbers(preset_config(task, explore))


@pytest.mark.parametrize("explore", ["rle", "rnd", "noisy", "white-noise", "random"])
def test_every_method_learns_as_ppo_does(task: str, explore: str) -> None:
    """The table has one set of PPO's numbers, entropy among them, and no scaling of the reward."""
    ppo = preset_config(task, "none").learner
    assert preset_config(task, explore).learner == ppo
    assert ppo.entropy_coefficient == 0.01
    assert ppo.scale_reward is False
    assert ppo.reward_scale == 1.0
    assert ppo.reward_clip is None


def test_noisynet_rows(task: str) -> None:
    config = preset_config(task, "noisy")
    assert config.noisy is not None
    assert config.noisy.initial_std == 0.017


def test_rnd_rows(task: str) -> None:
    config = preset_config(task, "rnd")
    assert config.rnd is not None
    assert config.rnd.coefficient == 1.0
    assert config.rnd.keep_fraction == 0.25
    # Predictor MLP (256, 256, 256, 256, 256) and target MLP (64, 256): the last width is the output.
    assert (*config.rnd.predictor_hidden, config.rnd.outputs) == (256,) * 5
    assert (*config.rnd.target_hidden, config.rnd.outputs) == (64, 256)


def test_no_method_gets_more_than_one_rollout_of_warm_up(task: str) -> None:
    for explore in ("none", "rle", "rnd", "noisy", "white-noise", "random"):
        assert Trainer(preset_config(task, explore)).strategy.warmup_rollouts <= 1


def test_both_bonuses_are_scaled_alike(task: str) -> None:
    assert preset_config(task, "rle").rle.scale_bonus is True
    assert preset_config(task, "rnd").rnd.scale_bonus is True


def test_rle_rows(task: str) -> None:
    config = preset_config(task, "rle")
    assert config.rle is not None
    assert config.rle.coefficient == 0.1
    assert config.rle.dimension == 4
    # Feature network MLP (64, 64, 64, 4): the last width is d.
    assert (*config.rle.feature_hidden, config.rle.dimension) == (64, 64, 64, 4)
    assert config.rle.feature_activation == "relu"
    assert config.rle.resample_every == 128
    assert config.rle.distribution == "sphere"
    # F(s, z) = φ(s) / ‖φ(s)‖ · z, in [-1, 1].
    assert config.rle.unit_norm is True
    assert config.rle.standardise is False
    assert config.rle.feature_update_rate == 0.0


def test_network_shapes_are_the_tables() -> None:
    """Policy MLP (64, 64, 4) and value MLP (64, 64, 1), as built; z is concatenated to (x, y)."""
    network = Trainer(preset_config("fourroom", "rle")).network
    policy = [layer.weight.shape for layer in network.policy_body.layers]
    assert policy == [(64, 2 + 4), (64, 64)]
    assert network.policy_head.weight.shape == (4, 64)
    value = [layer.weight.shape for layer in network.value_body.layers]
    assert value == [(64, 2 + 4), (64, 64)]
    assert [head.weight.shape for head in network.value_heads] == [(1, 64), (1, 64)]


def test_rnd_networks_are_the_tables() -> None:
    strategy = Trainer(preset_config("fourroom", "rnd")).strategy
    predictor = [p.shape for p in strategy._predictor.parameters() if p.dim() == 2]
    assert predictor == [(256, 2), *[(256, 256)] * 4]
    target = [p.shape for p in strategy._target.parameters() if p.dim() == 2]
    assert target == [(64, 2), (256, 64)]
