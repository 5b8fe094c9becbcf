"""Runs as small as can be that between them use every operation of training."""

from __future__ import annotations

from typing import Any

from rle.config import RunConfig
from rle.presets import preset_config
from rle.settings import replace

STEPS = 12
"""Of a rollout: more than are stored at once."""
TINY: dict[str, Any] = {
    "num_envs": 4,
    "rollout_steps": STEPS,
    "total_steps": 4 * STEPS * 4,
    "checkpoint_every": 4 * STEPS * 2,
    "compile": "off",
}
LEARNING: dict[str, Any] = {"epochs": 1, "minibatches": 2}

FOLLOWING = {
    "rle.feature_hidden": None,
    "rle.feature_update_rate": 0.005,
    "rle.standardise": True,
    "rle.condition_on_bonus": True,
}
SHORT = {"time_limit": 5}
"""Episodes, of which several end in every rollout."""
ATARI = {
    **{"num_envs": 2, "total_steps": 2 * STEPS * 4, "embedding": (16,), "micro_batch": 8},
    # Some processors would compute in bfloat16, which the other device is not said to have.
    "precision": "float32",
}

CASES: dict[str, tuple[str, str, dict[str, Any]]] = {
    "none": ("fourroom-sparse", "none", SHORT),
    "rle": ("fourroom-sparse", "rle", SHORT),
    "rnd": ("fourroom-sparse", "rnd", SHORT),
    "rle and rnd in parts": ("fourroom-noisytv", "rle+rnd", SHORT | {"micro_batch": 8}),
    "noisy": ("fourroom-sparse", "noisy", SHORT),
    "white noise": ("fourroom-sparse", "white-noise", SHORT),
    "random": ("fourroom-sparse", "random", SHORT),
    "rle follows the value": ("fourroom-sparse", "rle", SHORT | FOLLOWING),
    "rle of one stream": ("fourroom-sparse", "rle", SHORT | {"rle.separate_streams": False}),
    "gym": ("gym/CartPole-v1", "rle+rnd", {"time_limit": 6, "micro_batch": 8}),
    "gym resets at once": (
        "gym/Pendulum-v1",
        "rle",
        {"time_limit": 6, "autoreset": "same-step"},
    ),
    "BallBalance": ("control/BallBalance", "rle", {"time_limit": 6}),
    "BallBalance, as in the paper": ("control/BallBalance", "rle", {"preset": "paper"}),
    "Atari": ("atari/Breakout", "rle+rnd", ATARI | {"rnd.predictor_hidden": (16,)}),
}
"""Task, strategy and settings, by what is special about each."""


def tiny(case: str, device: str = "cpu") -> RunConfig:
    """The configuration of a case."""
    task, explore, settings = CASES[case]
    preset = settings.get("preset")
    own = {name: value for name, value in settings.items() if name != "preset"}
    for part in explore.split("+"):
        if part == "rnd":
            own = {"rnd.warmup_rollouts": 1} | own
    learning = {} if explore == "random" else LEARNING
    return replace(preset_config(task, explore, preset), TINY | learning | own | {"device": device})
