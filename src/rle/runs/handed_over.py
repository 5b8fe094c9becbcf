"""Agents on tasks that have a name, or that a program hands over."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from rle.agents.device import resolve_device
from rle.checks import require
from rle.config import RunConfig
from rle.errors import UsageError
from rle.runs.ranks.share import world_of
from rle.runs.trainer import Trainer
from rle.tasks.handed_over import handed_over, is_found_by_name, require_same


def trainer_of(config: RunConfig, env: Any = None) -> Trainer:
    """The agent of `config`, on its task: `env`, if that is an object without a name of its own."""
    if env is not None:
        require_same(env, config.task)
    with _fitting_memory():
        if env is None or is_found_by_name(config.task):
            return Trainer(config, world=world_of(config))
        require(
            config.machine.devices == 1,
            f"{config.task} is handed over as an object, which cannot be split over "
            f"{config.machine.devices} devices: give a task by its name, or train on one device.",
        )
        device = resolve_device(config.machine.device)
        return Trainer(config, handed_over(env, config.task, config.environment, device))


@contextmanager
def _fitting_memory() -> Iterator[None]:
    """Say in one sentence that a run does not fit the memory."""
    try:
        yield
    except (MemoryError, RuntimeError) as error:
        reason = next(iter(str(error).splitlines()), "")
        # PyTorch has no kind of error of its own for what does not fit the CPU's memory.
        if isinstance(error, RuntimeError) and not re.search("alloca|memory|overflow", reason):
            raise
        raise UsageError(
            f"the run does not fit the memory ({reason or 'all of it is taken'}): choose a smaller "
            "num-envs, rollout-steps or networks."
        ) from error
