"""Every number of the paper's Atari table, line by line."""

import dataclasses

import pytest
import torch

from rle.presets import preset_config
from rle.runs.trainer import Trainer
from rle.settings import replace


@pytest.mark.parametrize("explore", ["none", "rle", "rnd", "noisy"])
@pytest.mark.parametrize("preset", ["paper", "released"])
def test_rows_of_all_methods(explore: str, preset: str) -> None:
    config = preset_config("atari/Alien", explore, preset)
    assert config.total_steps == 40_000_000
    assert config.learner.adam_epsilon == 1e-5
    assert config.environment.num_envs == 128
    assert config.learner.rollout_steps == 128
    assert config.learner.gae_lambda == 0.95
    assert config.learner.minibatches == 4
    assert config.learner.epochs == 4
    assert config.learner.clip == 0.1
    assert config.learner.value_coefficient == 0.5
    assert config.learner.max_gradient_norm == 0.5
    assert config.learner.normalise_advantages is True
    assert config.learner.clip_value_loss is True
    # (256, 448, 448, outputs): the third layer is the policy's and the value's own.
    assert config.network.embedding == (256, 448)
    assert config.network.activation == "relu"
    # 18 actions in the table; the scripts play the game's own.
    assert config.environment.full_action_space is (preset == "paper")


def test_ppo_rows() -> None:
    config = preset_config("atari/Alien", "none")
    assert config.learner.learning_rate == 1e-4
    assert config.learner.discount == 0.99
    assert config.learner.entropy_coefficient == 0.01


def test_noisynet_rows() -> None:
    config = preset_config("atari/Alien", "noisy")
    assert config.noisy is not None
    assert config.noisy.initial_std == 0.017
    assert config.learner.entropy_coefficient == 0.0
    assert config.learner.learning_rate == 1e-4
    assert config.learner.discount == 0.99


def test_rnd_rows() -> None:
    config = preset_config("atari/Alien", "rnd")
    assert config.rnd is not None
    assert config.rnd.coefficient == 1.0
    assert config.learner.task_coefficient == 2.0
    assert config.rnd.keep_fraction == 0.25
    assert config.rnd.warmup_rollouts == 50
    assert config.learner.discount == 0.999
    assert config.learner.entropy_coefficient == 0.001
    assert config.rnd.discount == 0.99
    # CNN + MLP (512, 512, 512) and CNN + MLP (512): the last width is the output's.
    assert (*config.rnd.predictor_hidden, config.rnd.outputs) == (512, 512, 512)
    assert (*config.rnd.target_hidden, config.rnd.outputs) == (512,)
    assert config.learner.learning_rate == 1e-4


def test_rle_rows() -> None:
    config = preset_config("atari/Alien", "rle")
    assert config.rle is not None
    assert config.rle.coefficient == 0.01
    assert config.rle.dimension == 16
    assert config.rle.resample_every == 1280
    assert config.learner.learning_rate == 3e-4
    assert config.learner.discount == 0.999
    assert config.rle.discount == 0.99
    assert config.rle.feature_update_rate == 0.005
    assert config.learner.entropy_coefficient == 0.01
    assert config.rle.distribution == "sphere"
    assert config.rle.unit_norm is True
    assert config.rle.standardise is True
    # "In addition, the policy observes z as well as the random reward of the previous step."
    assert config.rle.condition_on_bonus is True


def test_released_scripts() -> None:
    config = preset_config("atari/Alien", "rle", "released")
    assert config.rle is not None
    assert config.rle.resample_every == 500
    assert config.rle.stagger is True
    assert config.rle.condition_on_bonus is False
    assert config.rle.feature_raw_pixels is True
    for explore in ("none", "noisy"):
        assert preset_config("atari/Alien", explore, "released").learner.scale_reward is True
        assert preset_config("atari/Alien", explore, "paper").learner.scale_reward is False


def test_networks_are_the_tables() -> None:
    """Feature network CNN + MLP (256, 448, 16), and RND's with leaky convolutions, as built."""
    small = {"num_envs": 2, "rollout_steps": 2, "minibatches": 1}
    features = Trainer(replace(preset_config("atari/Pong", "rle"), small)).strategy.features
    dense = [tuple(p.shape) for p in features.parameters() if p.dim() == 2]
    assert dense == [(256, 3136), (448, 256), (16, 448)]
    rnd = Trainer(replace(preset_config("atari/Pong", "rnd"), small)).strategy
    predictor = [tuple(p.shape) for p in rnd._predictor.parameters() if p.dim() > 1]
    convolutions = [(32, 1, 8, 8), (64, 32, 4, 4), (64, 64, 3, 3)]
    assert predictor == [*convolutions, (512, 3136), (512, 512), (512, 512)]
    target = [tuple(p.shape) for p in rnd._target.parameters() if p.dim() > 1]
    assert target == [*convolutions, (512, 3136)]
    assert rnd._predictor.body._activate is torch.nn.functional.leaky_relu


@pytest.mark.parametrize("explore", ["none", "rle", "rnd", "noisy", "white-noise"])
def test_desktop_learns_from_every_step_once_in_small_batches(explore: str) -> None:
    config = preset_config("atari/Breakout", explore, "desktop")
    assert config.total_steps == 2_000_000
    assert config.batch_size // config.learner.minibatches == 128
    assert config.learner.epochs == 1
    assert config.learner.learning_rate == 1e-3
    assert config.learner.anneal_learning_rate is True
    assert config.learner.discount == 0.99
    assert config.environment.full_action_space is False
    # The networks are the paper's, but for values that start at zero.
    paper = preset_config("atari/Breakout", explore).network
    assert config.network == dataclasses.replace(paper, value_gain=0.0)
    # Clipped rewards are ones: few of them are not blown up, for any method.
    assert config.learner.scale_reward is True
    assert config.learner.enlarge_reward is False


def test_on_a_few_cores_rle_is_the_whitened_one_of_all_tasks() -> None:
    rle, plain = (preset_config("atari/Breakout", e, "desktop") for e in ("rle", "none"))
    assert rle.rle == preset_config("gym/CartPole-v1", "rle").rle
    # Nothing but the bonus and its z tells it from PPO.
    assert rle.learner == plain.learner
    assert rle.network == plain.network


def test_values_of_images_start_at_zero_if_asked_to() -> None:
    small = {"num_envs": 2, "rollout_steps": 2, "minibatches": 1}
    config = replace(preset_config("atari/Pong", "rle", "desktop"), small)
    heads = Trainer(config).network.value_heads
    assert len(heads) == 2
    assert all(not head.weight.any() for head in heads)
