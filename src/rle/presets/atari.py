"""The paper's Atari table, where the published scripts differ from it, and numbers for a few cores."""

from __future__ import annotations

from collections.abc import Mapping

from rle.presets.tables import Presets, Settings, Tables
from rle.presets.whitened import MODEST_REWARDS, QUIET_VALUES, WHITENED_RLE

ATARI_PPO: Settings = {
    "total_steps": 40_000_000,
    "learner.learning_rate": 1e-4,
    "learner.adam_epsilon": 1e-5,
    "environment.num_envs": 128,
    "learner.rollout_steps": 128,
    "learner.discount": 0.99,
    "learner.gae_lambda": 0.95,
    "learner.minibatches": 4,
    "learner.epochs": 4,
    "learner.clip": 0.1,
    "learner.entropy_coefficient": 0.01,
    "learner.value_coefficient": 0.5,
    "learner.max_gradient_norm": 0.5,
    "learner.normalise_advantages": True,
    "learner.clip_value_loss": True,
    # After it, policy and value have a layer of the same width each: (256, 448, 448, outputs).
    "network.embedding": (256, 448),
    "network.activation": "relu",
    "environment.full_action_space": True,
    # Not the paper's: they change the speed and not the numbers.
    "micro_batch": 256,
    "threads": 0,
    "checkpoint_every": 1_000_000,
}

ATARI_RLE: Settings = {
    "rle.coefficient": 0.01,
    "rle.dimension": 16,
    "rle.distribution": "sphere",
    "rle.resample_every": 1280,
    "learner.learning_rate": 3e-4,
    "learner.discount": 0.999,
    "rle.discount": 0.99,
    "rle.feature_hidden": None,
    "rle.feature_update_rate": 0.005,
    "rle.feature_update": "minibatch",
    "rle.unit_norm": True,
    "rle.standardise": True,
    "rle.condition_on_bonus": True,
    "rle.scale_bonus": True,
    "learner.scale_reward": True,
}

ATARI_RND: Settings = {
    "rnd.coefficient": 1.0,
    "learner.task_coefficient": 2.0,
    "rnd.keep_fraction": 0.25,
    "rnd.warmup_rollouts": 50,
    "learner.discount": 0.999,
    "learner.entropy_coefficient": 0.001,
    "rnd.discount": 0.99,
    "rnd.predictor_hidden": (512, 512),
    "rnd.target_hidden": (),
    "rnd.outputs": 512,
    "learner.scale_reward": True,
}

ATARI: Mapping[str, Settings] = {
    "none": {},
    "rle": ATARI_RLE,
    "rnd": ATARI_RND,
    "noisy": {"noisy.initial_std": 0.017, "learner.entropy_coefficient": 0.0},
    "white-noise": {"white_noise.coefficient": 0.01, "learner.scale_reward": True},
}

ATARI_RELEASED: Mapping[str, Settings] = {
    "none": {"learner.scale_reward": True},
    "rle": {
        "rle.resample_every": 500,
        "rle.stagger": True,
        "rle.condition_on_bonus": False,
        "rle.feature_raw_pixels": True,
    },
    "rnd": {},
    "noisy": {"learner.scale_reward": True},
    "white-noise": {},
}
"""Where the published Atari scripts differ from the paper; they all play the game's own actions."""

DESKTOP_PPO: Settings = {
    **ATARI_PPO,
    "total_steps": 2_000_000,
    "environment.num_envs": 16,
    "environment.full_action_space": False,
    "learner.epochs": 1,
    "learner.minibatches": 16,
    "learner.learning_rate": 1e-3,
    "learner.anneal_learning_rate": True,
    **QUIET_VALUES,
    **MODEST_REWARDS,
    "threads": 1,
    "checkpoint_every": 100_000,
}
"""Each number is explained in docs/atari.md."""

DESKTOP: Mapping[str, Settings] = {
    "none": {},
    "rle": {
        **WHITENED_RLE,
        "rle.condition_on_bonus": False,
        # The paper's are RLE's own; here all strategies learn with the same.
        "learner.learning_rate": DESKTOP_PPO["learner.learning_rate"],
        "learner.discount": DESKTOP_PPO["learner.discount"],
    },
    "rnd": {"learner.discount": 0.99, "rnd.warmup_rollouts": 10},
    "noisy": {},
    "white-noise": {},
}


def _tables(name: str, preset: str) -> Tables:
    """The numbers of any game."""
    if preset == "desktop":
        return Tables(DESKTOP_PPO, (ATARI, DESKTOP))
    if preset == "released":
        learner = {**ATARI_PPO, "environment.full_action_space": False}
        return Tables(learner, (ATARI, ATARI_RELEASED))
    return Tables(ATARI_PPO, (ATARI,))


ATARI_PRESETS = Presets(_tables, ("paper", "released", "desktop"))
