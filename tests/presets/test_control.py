"""Every number of the paper's two Isaac Gym tables, line by line."""

import pytest
import torch

from rle.config import RunConfig
from rle.errors import UsageError
from rle.presets import preset_config
from rle.runs.trainer import Trainer
from rle.settings import replace
from rle.tasks.suites.control import TASKS

STEPS_AND_ENVIRONMENTS = {
    "AllegroHand": (600_000_000, 8192),
    "ShadowHand": (600_000_000, 8192),
    "BallBalance": (200_000_000, 4096),
    "Humanoid": (200_000_000, 4096),
    "Ant": (100_000_000, 4096),
    "Cartpole": (100_000_000, 4096),
    "FrankaCabinet": (100_000_000, 4096),
    "Anymal": (100_000_000, 4096),
    "AnymalTerrain": (100_000_000, 4096),
}
HANDS = ("AllegroHand", "ShadowHand")
PAPER_AND_RELEASED = pytest.mark.parametrize("preset", ["paper", "released"])


def control(name: str, explore: str, preset: str | None = "paper") -> RunConfig:
    return preset_config(f"control/{name}", explore, preset)


@pytest.mark.parametrize("name", STEPS_AND_ENVIRONMENTS)
@pytest.mark.parametrize("explore", ["none", "rle", "rnd", "noisy", "white-noise"])
@PAPER_AND_RELEASED
def test_the_second_table(name: str, explore: str, preset: str) -> None:
    config = control(name, explore, preset)
    found = (config.total_steps, config.environment.num_envs)
    assert found == STEPS_AND_ENVIRONMENTS[name]


def test_the_nine_tasks_have_numbers() -> None:
    assert set(TASKS) == set(STEPS_AND_ENVIRONMENTS)


@pytest.mark.parametrize("explore", ["none", "rle", "rnd", "noisy", "white-noise"])
@PAPER_AND_RELEASED
def test_rows_of_all_methods(explore: str, preset: str) -> None:
    config = control("Ant", explore, preset)
    assert config.learner.adam_epsilon == 0.00001
    assert config.learner.rollout_steps == 16
    assert config.learner.discount == 0.99
    assert config.learner.gae_lambda == 0.95
    assert config.learner.minibatches == 2
    assert config.learner.epochs == 4
    assert config.learner.clip == 0.2
    assert config.learner.entropy_coefficient == 0.0
    assert config.learner.value_coefficient == 2.0
    assert config.learner.normalise_advantages is True
    assert config.learner.clip_value_loss is False
    assert config.network.activation == "tanh"
    assert config.learner.reward_scale == 1.0
    assert config.learner.anneal_learning_rate is False


@pytest.mark.parametrize("explore", ["none", "rnd"])
def test_ppo_rows(explore: str) -> None:
    config = control("Ant", explore)
    assert config.learner.learning_rate == 0.0026
    assert config.learner.max_gradient_norm == 1.0
    # Policy MLP (256, 256, 256), value MLP (256, 256, 256, 1).
    assert config.network.policy_hidden == (256, 256, 256)
    assert (*config.network.value_hidden, 1) == (256, 256, 256, 1)


def test_reward_normalisation_is_rles_and_rnds_and_not_ppos() -> None:
    scaled = {name: control("Ant", name).learner.scale_reward for name in ("none", "rle", "rnd")}
    assert scaled == {"none": False, "rle": True, "rnd": True}


@pytest.mark.parametrize("explore", ["none", "rnd"])
@pytest.mark.parametrize("name", HANDS)
def test_rows_of_the_hands(name: str, explore: str) -> None:
    config = control(name, explore)
    assert config.learner.rollout_steps == 8
    assert config.learner.minibatches == 4
    assert config.learner.epochs == 5
    assert config.learner.reward_scale == 0.01
    # Declared and never used in the scripts.
    released = control(name, explore, "released")
    assert released.learner.reward_scale == 1.0
    assert released.learner.rollout_steps == 8


@PAPER_AND_RELEASED
@pytest.mark.parametrize("name", HANDS)
def test_rle_has_the_same_numbers_on_every_task(name: str, preset: str) -> None:
    sizes = {"total_steps": 1, "environment.num_envs": 4, "task": "control/Ant"}
    on_hand, on_ant = (replace(control(task, "rle", preset), sizes) for task in (name, "Ant"))
    assert on_hand == on_ant


@pytest.mark.parametrize("preset", ["paper", "desktop"])
def test_white_noise_learns_as_rle_does(preset: str) -> None:
    noise, rle = control("Ant", "white-noise", preset), control("Ant", "rle", preset)
    assert noise.learner == rle.learner
    assert noise.network.policy_hidden == rle.network.policy_hidden
    assert noise.network.value_hidden == rle.network.value_hidden


@PAPER_AND_RELEASED
def test_rnd_rows(preset: str) -> None:
    rnd = control("Ant", "rnd", preset).rnd
    assert rnd is not None
    assert rnd.value_coefficient == 2.0
    assert rnd.coefficient == 0.5
    assert rnd.keep_fraction == 0.0625
    assert rnd.warmup_rollouts == 50
    # The table counts four layers of the predictor, the scripts have five: five.
    assert (*rnd.predictor_hidden, rnd.outputs) == (256, 256, 256, 256, 256)
    assert (*rnd.target_hidden, rnd.outputs) == (64, 64, 256)


def test_rle_rows() -> None:
    config = control("Ant", "rle")
    assert config.rle is not None
    assert config.rle.value_coefficient == 0.5
    assert config.rle.coefficient == 0.01
    assert config.rle.dimension == 32
    assert config.rle.resample_every == 16
    assert config.learner.learning_rate == 0.001
    assert config.learner.max_gradient_norm == 1.0
    assert config.rle.feature_update_rate == 0.005
    assert config.rle.feature_update == "minibatch"
    assert config.network.policy_hidden == (256, 256, 256)
    assert (*config.network.value_hidden, 1) == (512, 512, 256, 256, 1)
    assert config.rle.feature_hidden == (512, 512, 256)
    assert config.rle.feature_activation == "tanh"
    assert config.rle.distribution == "sphere"
    assert config.rle.standardise is True
    # "slightly different from Atari, where we divide by the norm"
    assert config.rle.unit_norm is False
    assert config.rle.condition_on_bonus is False


def test_released_scripts() -> None:
    config = control("Ant", "rle", "released")
    assert config.rle is not None
    assert config.rle.coefficient == 0.1
    assert config.learner.max_gradient_norm == 0.5
    assert config.rle.distribution == "normal"
    assert config.rle.standardise is False
    assert config.network.value_hidden == (512, 512, 256, 256)
    assert config.network.policy_hidden == (256, 256)
    for explore in ("none", "rnd"):
        config = control("Ant", explore, "released")
        assert config.network.policy_hidden == (256, 256)
        assert config.network.value_hidden == (256, 256)
        assert config.learner.max_gradient_norm == 1.0


def dense(module: torch.nn.Module) -> list[tuple[int, ...]]:
    return [tuple(p.shape) for p in module.parameters() if p.dim() == 2]


def test_networks_are_the_tables() -> None:
    """As built: z passes 64 and 16 units; φ has the shape of the value backbone without z."""
    small = {"num_envs": 2, "rollout_steps": 2, "minibatches": 1}
    trainer = Trainer(replace(control("BallBalance", "rle"), small))
    network, features = trainer.network, trainer.strategy.features
    assert dense(network.latent_encoder) == [(64, 32), (16, 64)]
    assert dense(network.policy_body) == [(256, 12 + 16), (256, 256), (256, 256)]
    assert dense(network.policy_head) == [(3, 256)]
    assert dense(network.value_body) == [(512, 12), (512, 512), (256, 512)]
    assert dense(network.value_tail) == [(256, 256 + 16)]
    assert dense(network.value_heads) == [(1, 256), (1, 256)]
    assert dense(features) == [(512, 12), (512, 512), (256, 512), (32, 256)]
    rnd = Trainer(replace(control("BallBalance", "rnd"), small)).strategy
    assert dense(rnd._predictor) == [(256, 12), *[(256, 256)] * 4]
    assert dense(rnd._target) == [(64, 12), (64, 64), (256, 64)]


@pytest.mark.parametrize("explore", ["none", "rle", "rnd", "noisy", "white-noise"])
def test_desktop_is_the_default(explore: str) -> None:
    config = control("Ant", explore, None)
    assert config.preset == "desktop"
    assert config == control("Ant", explore, "desktop")
    assert config.total_steps == 1_000_000
    assert config.environment.normalise_observations is True
    assert config.learner.scale_reward is True
    # Every method learns with the same numbers.
    plain = control("Ant", "none", "desktop")
    assert config.learner == plain.learner
    assert config.environment == plain.environment
    assert config.network.policy_hidden == plain.network.policy_hidden
    assert config.network.value_hidden == plain.network.value_hidden


def test_on_a_few_cores_z_lasts_a_rollout_as_in_the_paper() -> None:
    for preset in ("paper", "desktop"):
        config = control("Ant", "rle", preset)
        assert config.rle is not None
        assert config.rle.resample_every == config.learner.rollout_steps


def test_on_a_few_cores_rle_is_the_whitened_one_of_all_tasks() -> None:
    """Nothing of RLE's is special to control, and nothing of the paper's control is left in it."""
    config, plain = control("Ant", "rle", "desktop"), control("Ant", "none", "desktop")
    assert config.rle == preset_config("gym/CartPole-v1", "rle").rle
    assert config.rle.whitened_features == 128
    assert config.network == plain.network
    assert config.network.latent_encoder == ()
    assert config.network.value_backbone == 0
    assert config.network.value_gain == 0.0
    # Dense rewards are scaled as they always were there.
    assert config.learner.enlarge_reward is True


def test_as_built_on_a_few_cores_z_joins_the_observation() -> None:
    trainer = Trainer(replace(control("BallBalance", "rle", "desktop"), {"num_envs": 2}))
    network, features = trainer.network, trainer.strategy.features
    assert dense(network.policy_body) == [(64, 12 + 4), (64, 64)]
    assert dense(network.value_body) == [(64, 12 + 4), (64, 64)]
    assert dense(features) == [(128, 12), (128, 128), (128, 128)]
    assert all(not head.weight.any() for head in network.value_heads)


@PAPER_AND_RELEASED
@pytest.mark.parametrize("task", ["fourroom", "control/Ant", "atari/Pong"])
def test_the_papers_rle_has_nothing_of_the_whitened_one(task: str, preset: str) -> None:
    config = preset_config(task, "rle", preset)
    assert config.rle.whitened_features == 0
    assert config.rle.rarity == 0.0
    assert config.rle.anneal is False
    assert config.network.value_gain == 1.0
    assert config.learner.enlarge_reward is True


def test_elsewhere_the_default_is_called_the_papers() -> None:
    for task in ("fourroom", "atari/Pong", "gym/CartPole-v1"):
        assert preset_config(task, "rle") == preset_config(task, "rle", "paper")
    with pytest.raises(UsageError, match="for fourroom, control/, atari/ and sparse/ tasks"):
        preset_config("gym/CartPole-v1", "rle", "desktop")
