"""What each peer can play, told without importing it."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import torch

from rle.config import RunConfig
from rle.core.features import SMALLEST_IMAGE
from rle.presets import preset_config
from rle.tasks.base import Continuous, Discrete
from rle.tasks.envpool import EnvPoolTask
from rle.tasks.normalise import NormalisedTask
from rle.tasks.registry import make_task, suite_of

JAX_TASK = "fourroom"
FREE_IN_JAX = {
    "environment": {"num_envs", "time_limit"},
    "network": {"policy_hidden", "value_hidden", "value_gain"},
    "learner": {
        *("learning_rate", "adam_epsilon", "rollout_steps", "discount", "gae_lambda", "epochs"),
        *("minibatches", "clip", "entropy_coefficient", "value_coefficient", "max_gradient_norm"),
    },
    "rle": {
        *("coefficient", "dimension", "resample_every", "discount", "feature_hidden"),
        *("value_coefficient", "warmup_rollouts"),
    },
}
"""The settings that the JAX program reads, and one that does nothing there; of the others it knows what
the paper's preset has."""


def plays_gymnasium_or_envpool(config: RunConfig) -> bool:
    """Gymnasium's worlds without wrappers, and EnvPool's."""
    suite, name = suite_of(config.task)
    if suite.gymnasium_id(name) is not None:
        return not config.environment.wrappers
    return _engine_of(config) is not None


def plays_envpool(config: RunConfig) -> bool:
    """EnvPool's worlds of vectors or large images, with one choice or some numbers as an action."""
    engine = _engine_of(config)
    if engine is None or not isinstance(engine.spec.action_space, Discrete | Continuous):
        return False
    return not engine.spec.is_image or min(engine.spec.observation_shape[1:]) >= SMALLEST_IMAGE


def _engine_of(config: RunConfig) -> EnvPoolTask | None:
    task = make_task(config.task, config.environment, torch.device("cpu"))
    task.close()
    engine = task.shown if isinstance(task, NormalisedTask) else task
    return engine if isinstance(engine, EnvPoolTask) else None


def plays_papers_fourroom(config: RunConfig) -> bool:
    """FourRoom without reward, where nothing but sizes and weights differ from the paper's RLE."""
    if config.task != JAX_TASK or config.rle is None or config.rle.feature_hidden is None:
        return False
    return _fixed(config) == _fixed(preset_config(JAX_TASK, "rle", "paper"))


def _fixed(config: RunConfig) -> dict[str, dict[str, Any]]:
    """Settings that the JAX program does not read."""
    sections = asdict(config)
    return {
        section: {name: value for name, value in sections[section].items() if name not in free}
        for section, free in FREE_IN_JAX.items()
    }
