"""The paper's two Isaac Gym tables, where the scripts differ, and numbers for a few cores."""

from __future__ import annotations

from collections.abc import Mapping

from rle.checks import nearest
from rle.errors import UsageError
from rle.presets.tables import Presets, Settings, Tables
from rle.presets.whitened import QUIET_VALUES, WHITENED_RLE

TASK_SIZES: Mapping[str, tuple[int, int]] = {
    "Cartpole": (100_000_000, 4096),
    "Ant": (100_000_000, 4096),
    "Humanoid": (200_000_000, 4096),
    "BallBalance": (200_000_000, 4096),
    "FrankaCabinet": (100_000_000, 4096),
    "Anymal": (100_000_000, 4096),
    "AnymalTerrain": (100_000_000, 4096),
    "AllegroHand": (600_000_000, 8192),
    "ShadowHand": (600_000_000, 8192),
}
"""Timesteps and parallel environments of each task."""
HANDS = ("AllegroHand", "ShadowHand")

CONTROL_PPO: Settings = {
    "learner.learning_rate": 0.0026,
    "learner.adam_epsilon": 1e-5,
    "learner.rollout_steps": 16,
    "learner.discount": 0.99,
    "learner.gae_lambda": 0.95,
    "learner.minibatches": 2,
    "learner.epochs": 4,
    "learner.clip": 0.2,
    "learner.entropy_coefficient": 0.0,
    "learner.value_coefficient": 2.0,
    "learner.max_gradient_norm": 1.0,
    "learner.normalise_advantages": True,
    "learner.clip_value_loss": False,
    "learner.reward_scale": 1.0,
    "network.policy_hidden": (256, 256, 256),
    "network.value_hidden": (256, 256, 256),
    "network.activation": "tanh",
    # From the scripts; only strategies with a latent use it.
    "network.latent_encoder": (64, 16),
    # Not the paper's: they change the speed and not the numbers.
    "threads": 0,
    "checkpoint_every": 10_000_000,
}

CONTROL_HANDS: Settings = {
    "learner.rollout_steps": 8,
    "learner.minibatches": 4,
    "learner.epochs": 5,
    "learner.reward_scale": 0.01,
}
"""PPO's rows for the hands, which RND shares: "For RLE, we use the same hyperparameters for each task."
"""

CONTROL_RLE: Settings = {
    "rle.value_coefficient": 0.5,
    "rle.coefficient": 0.01,
    "rle.dimension": 32,
    "rle.resample_every": 16,
    "learner.learning_rate": 1e-3,
    "rle.feature_update_rate": 0.005,
    "rle.feature_update": "minibatch",
    "network.value_hidden": (512, 512, 256, 256),
    # The last of these layers takes z beside what the first three make of the observation.
    "network.value_backbone": 3,
    "rle.feature_hidden": (512, 512, 256),
    "rle.feature_activation": "tanh",
    "rle.distribution": "sphere",
    "rle.standardise": True,
    "rle.unit_norm": False,
    "rle.discount": 0.99,
    "rle.scale_bonus": True,
    "learner.scale_reward": True,
}

CONTROL_RND: Settings = {
    "rnd.value_coefficient": 2.0,
    "rnd.coefficient": 0.5,
    "rnd.keep_fraction": 0.0625,
    "rnd.warmup_rollouts": 50,
    # Five linear layers with the output's, as in the scripts; the table counts four.
    "rnd.predictor_hidden": (256, 256, 256, 256),
    "rnd.target_hidden": (64, 64),
    "rnd.outputs": 256,
    "rnd.discount": 0.99,
    "learner.scale_reward": True,
}

CONTROL_WHITE_NOISE: Settings = {
    "white_noise.coefficient": 0.01,
    # What RLE learns with, so that nothing but the bonus and its z makes the difference.
    **{
        key: CONTROL_RLE[key]
        for key in ("learner.learning_rate", "network.value_hidden", "learner.scale_reward")
    },
}

CONTROL: Mapping[str, Settings] = {
    "none": {},
    "rle": CONTROL_RLE,
    "rnd": CONTROL_RND,
    # Not in the paper's table: Atari's.
    "noisy": {"noisy.initial_std": 0.017, "learner.entropy_coefficient": 0.0},
    "white-noise": CONTROL_WHITE_NOISE,
}

CONTROL_ON_HANDS: Mapping[str, Settings] = {
    "none": CONTROL_HANDS,
    "rle": {},
    "rnd": CONTROL_HANDS,
    "noisy": CONTROL_HANDS,
    "white-noise": {},
}

# The hands' scale is declared in the scripts and never used.
_REWARD_UNSCALED: Settings = {"learner.reward_scale": 1.0}

CONTROL_RELEASED: Mapping[str, Settings] = {
    "none": _REWARD_UNSCALED,
    "rle": {
        "rle.coefficient": 0.1,
        "rle.distribution": "normal",
        "rle.standardise": False,
        "learner.max_gradient_norm": 0.5,
    },
    "rnd": _REWARD_UNSCALED,
    "noisy": _REWARD_UNSCALED,
    "white-noise": {},
}
"""Where the published scripts differ from the paper, by strategy."""

CONTROL_RELEASED_PPO: Settings = {
    "network.policy_hidden": (256, 256),
    "network.value_hidden": (256, 256),
}

DESKTOP_PPO: Settings = {
    "total_steps": 1_000_000,
    "environment.num_envs": 16,
    "environment.normalise_observations": True,
    "environment.observation_clip": 10.0,
    "learner.learning_rate": 3e-4,
    "learner.anneal_learning_rate": True,
    "learner.adam_epsilon": 1e-5,
    "learner.rollout_steps": 128,
    "learner.discount": 0.99,
    "learner.gae_lambda": 0.95,
    "learner.minibatches": 16,
    "learner.epochs": 5,
    "learner.clip": 0.2,
    "learner.entropy_coefficient": 0.0,
    "learner.value_coefficient": 0.5,
    "learner.max_gradient_norm": 0.5,
    "learner.normalise_advantages": True,
    "learner.clip_value_loss": False,
    "learner.scale_reward": True,
    "learner.reward_clip": 10.0,
    "network.policy_hidden": (64, 64),
    "network.value_hidden": (64, 64),
    "network.activation": "tanh",
    "network.initial_action_std": 0.37,
    **QUIET_VALUES,
    "threads": 1,
    "checkpoint_every": 250_000,
}
"""Each number is explained in docs/control.md."""

DESKTOP: Mapping[str, Settings] = {
    "none": {},
    "rle": {
        **WHITENED_RLE,
        # The paper's are RLE's own; here all strategies learn with the same.
        "learner.learning_rate": DESKTOP_PPO["learner.learning_rate"],
        "network.value_hidden": DESKTOP_PPO["network.value_hidden"],
        "network.value_backbone": 0,
    },
    "rnd": {"rnd.value_coefficient": 0.5, "rnd.warmup_rollouts": 10},
    "noisy": {},
    "white-noise": {
        key: DESKTOP_PPO[key] for key in ("learner.learning_rate", "network.value_hidden")
    },
}


def _tables(name: str, preset: str) -> Tables:
    """The numbers of the task called `name`."""
    if name not in TASK_SIZES:
        raise UsageError(f"there is no control task {name!r}: {nearest(name, TASK_SIZES)}")
    if preset == "desktop":
        return Tables(DESKTOP_PPO, (CONTROL, DESKTOP))
    steps, num_envs = TASK_SIZES[name]
    learner = {**CONTROL_PPO, "total_steps": steps, "environment.num_envs": num_envs}
    strategies: tuple[Mapping[str, Settings], ...] = (CONTROL,)
    if name in HANDS:
        strategies = (CONTROL_ON_HANDS, *strategies)
    if preset == "released":
        return Tables({**learner, **CONTROL_RELEASED_PPO}, (*strategies, CONTROL_RELEASED))
    return Tables(learner, strategies)


CONTROL_PRESETS = Presets(_tables, ("paper", "released", "desktop"), default="desktop")
"""The paper ran these tasks on thousands of environments of a GPU."""
