"""Single Gymnasium environments, N side by side: made by id or by a function, wrapped, rewindable."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import gymnasium
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, SyncVectorEnv, VectorEnv

from rle.config import EnvironmentConfig
from rle.errors import UsageError
from rle.modules import load_named
from rle.tasks.gym.names import missing_package, one_line
from rle.tasks.gym.parts import Parts, PartsOnly, is_image, parts_of
from rle.tasks.gym.rewind import Rewindable

Environment = gymnasium.Env[Any, Any]
Maker = Callable[..., Any]
"""Called with the task's `env_kwargs`, it returns a Gymnasium environment, or a vector of them."""


def vector_by_id(env_id: str, config: EnvironmentConfig, pictures: bool) -> SyncVectorEnv[Any, Any]:
    """N environments of an id that Gymnasium knows."""
    options: dict[str, Any] = dict(config.env_kwargs)
    if config.time_limit is not None:
        options["max_episode_steps"] = config.time_limit
    if pictures:
        options["render_mode"] = "rgb_array"
    task = f"gym/{env_id}"
    with _explained(task, config):
        vector = gymnasium.make_vec(
            env_id,
            num_envs=config.num_envs,
            vectorization_mode="sync",
            vector_kwargs={"autoreset_mode": _mode(config), "copy": False},
            wrappers=[lambda environment: _prepared(environment, task, config)],
            **options,
        )
    assert isinstance(vector, SyncVectorEnv)
    return vector


def vector_of_made(
    first: Environment, make: Maker, task: str, config: EnvironmentConfig, pictures: bool
) -> SyncVectorEnv[Any, Any]:
    """N environments made by `make`, the `first` of which it has made already."""
    made: list[Environment] = []

    def one() -> Environment:
        environment = call(make, task, config, pictures) if made else first
        if any(environment is other for other in made):
            raise UsageError(
                f"{task} is made by a function that returns the same environment each time: make a "
                "new one in every call."
            )
        made.append(environment)
        if config.time_limit is not None:
            environment = gymnasium.wrappers.TimeLimit(environment, config.time_limit)
        return _prepared(environment, task, config)

    return SyncVectorEnv([one] * config.num_envs, autoreset_mode=_mode(config), copy=False)


def call(make: Maker, task: str, config: EnvironmentConfig, pictures: bool) -> Any:
    """What a function of the user's makes: an environment, or a vector of them."""
    offered = {"num_envs": config.num_envs}
    if pictures:
        offered["render_mode"] = "rgb_array"  # type: ignore[assignment]
    taken = {name: value for name, value in offered.items() if _accepts(make, name)}
    with _explained(task, config):
        made = make(**{**taken, **config.env_kwargs})
    if not isinstance(made, gymnasium.Env | VectorEnv):
        raise UsageError(
            f"{task} is made by a function that returns {type(made).__name__}: return a Gymnasium "
            "environment, or a vector environment."
        )
    return made


def _accepts(make: Maker, name: str) -> bool:
    """Whether a function has a parameter of this name."""
    try:
        return name in inspect.signature(make).parameters
    except (TypeError, ValueError):
        # What is not written in Python may not say what it takes.
        return False


def _mode(config: EnvironmentConfig) -> AutoresetMode:
    next_step = config.autoreset == "next-step"
    return AutoresetMode.NEXT_STEP if next_step else AutoresetMode.SAME_STEP


@contextmanager
def _explained(task: str, config: EnvironmentConfig) -> Iterator[None]:
    """Turn what goes wrong while environments are made into one sentence."""
    try:
        yield
    except UsageError:
        raise
    except (ImportError, gymnasium.error.DependencyNotInstalled) as error:
        raise UsageError(missing_package(task, error)) from error
    except Exception as error:
        if not config.env_kwargs:
            raise
        raise UsageError(
            f"{task} cannot be made with env-kwargs {dict(config.env_kwargs)} "
            f"({type(error).__name__}: {one_line(error)}): give what it takes."
        ) from error


def _prepared(environment: Environment, task: str, config: EnvironmentConfig) -> Rewindable:
    """An environment as tasks step it: in the user's wrappers, a vector or an image, rewindable."""
    for name in config.wrappers:
        environment = _wrapped(environment, name)
    return Rewindable(_fitted(task, environment))


def _wrapped(environment: Environment, name: str) -> Environment:
    wrapper: Any = load_named(name, f"wrappers names {name!r}", object)
    try:
        wrapped = wrapper(environment)
    except TypeError as error:
        raise UsageError(
            f"wrappers names {name!r}, which cannot be called with an environment alone "
            f"({one_line(error)}): give one that can."
        ) from error
    if not isinstance(wrapped, gymnasium.Env):
        raise UsageError(
            f"wrappers names {name!r}, which returns {type(wrapped).__name__}: return a Gymnasium "
            "environment."
        )
    return wrapped


def _fitted(task: str, environment: Environment) -> Environment:
    space = environment.observation_space
    if is_image(space) or (isinstance(space, spaces.Box) and len(space.shape) == 1):
        return environment
    return PartsOnly(environment, parts_of(task, space))


def parts_shown(environment: Rewindable) -> Parts | None:
    """What is shown of observations as the environment's author wrote them; None: all, unchanged."""
    inner = environment.env
    return inner.parts if isinstance(inner, PartsOnly) else None


def unflattened(environment: Rewindable) -> spaces.Space[Any]:
    """The space of what is shown, before it was flattened here or by a wrapper of the user's."""
    inner = environment.env
    if isinstance(inner, PartsOnly):
        return inner.parts.space
    if isinstance(inner, gymnasium.wrappers.FlattenObservation):
        inner = inner.env
    return inner.observation_space
