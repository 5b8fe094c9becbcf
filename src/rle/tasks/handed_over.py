"""Environments and tasks that a Python program hands over instead of a name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rle.checks import require
from rle.config import EnvironmentConfig
from rle.errors import UsageError
from rle.modules import path_of
from rle.tasks.base import Task
from rle.tasks.registry import as_shown

if TYPE_CHECKING:
    import torch


def name_of(env: Any) -> str:
    """What a run directory calls `env`: its name, or that of its kind in angle brackets.

    A function of a module is called by `module:function`, under which everyone finds it again.
    """
    if isinstance(env, str):
        return env
    if isinstance(env, Task):
        return f"task/<{type(env).__name__}>"
    import gymnasium

    if isinstance(env, gymnasium.vector.VectorEnv):
        return f"gym/<{type(env).__name__}>"
    if not callable(env) or isinstance(env, gymnasium.Env):
        raise UsageError(
            f"{type(env).__name__} is no task: give a task's name, a function that makes a new "
            "Gymnasium environment in each call, a Gymnasium vector environment, or a Task."
        )
    kind = getattr(env, "__name__", type(env).__name__).strip("<>")
    return f"gym/{path_of(env) or f'<{kind}>'}"


def is_found_by_name(name: str) -> bool:
    """Whether a task of this name can be made without being handed over."""
    return not name.endswith(">")


def size_of(env: Any) -> int | None:
    """How many environments it has; None if as many as are wanted can be made."""
    if isinstance(env, Task):
        return env.spec.num_envs
    if isinstance(env, str):
        return None
    from gymnasium.vector import VectorEnv

    return env.num_envs if isinstance(env, VectorEnv) else None


def require_same(env: Any, name: str) -> None:
    """Raise `UsageError` unless `env` is what a run directory calls `name`."""
    require(
        name_of(env) == name,
        f"the run is on {name}, and what is handed over is {name_of(env)}: hand over the same.",
    )


def handed_over(env: Any, name: str, config: EnvironmentConfig, device: torch.device) -> Task:
    """The task called `name` that `env` is."""
    from gymnasium.vector import VectorEnv

    from rle.tasks.gym.task import task_made_by
    from rle.tasks.gym.vector import VectorTask, require_single_settings_unused

    task: Task
    if isinstance(env, Task):
        require(
            config.time_limit is None,
            f"time-limit is for environments, and {name} keeps its own time: leave it out.",
        )
        task = env
    elif isinstance(env, VectorEnv):
        require_single_settings_unused(name, config)
        task = VectorTask(name, env, device, config)
    else:
        task = task_made_by(env, name, config, device)
    return as_shown(task, config, device)
