"""Agents on tasks that have a name, or that a program hands over."""

from __future__ import annotations

from typing import Any

from rle.config import RunConfig
from rle.runs.trainer import Trainer, resolve_device
from rle.tasks.handed_over import handed_over, is_found_by_name, require_same


def trainer_of(config: RunConfig, env: Any = None) -> Trainer:
    """The agent of `config`, on its task: `env`, if that is an object without a name of its own."""
    if env is not None:
        require_same(env, config.task)
    if env is None or is_found_by_name(config.task):
        return Trainer(config)
    device = resolve_device(config.machine.device)
    return Trainer(config, handed_over(env, config.task, config.environment, device))
