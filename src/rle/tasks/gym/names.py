"""What a name after `gym/` means: an id of Gymnasium's, or a function of the user's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gymnasium

from rle.checks import closest
from rle.errors import UsageError
from rle.modules import import_named, load_named
from rle.tasks.suggest import suggest_task


def check_gym_id(env_id: str) -> None:
    """Raise `UsageError` with the nearest name unless `env_id` can be made.

    As in Gymnasium, `module:id` imports the module that registers the id first. If it registers none
    of this name, `module:function` is one that makes environments.
    """
    module, _, name = env_id.rpartition(":")
    if not module:
        if name not in gymnasium.registry:
            raise UsageError(f"there is no Gymnasium environment {name!r}: {_advice(name)}")
        return
    import_named(module, f"gym/{env_id} is made by a module")
    if name in gymnasium.registry or function_of(env_id) is not None:
        return
    close = closest(name, gymnasium.registry)
    advice = f"did you mean 'gym/{module}:{close}'?" if close else "write it in that module."
    raise UsageError(
        f"the module {module!r} registers no environment {name!r} and has no function of this name: "
        f"{advice}"
    )


def _advice(name: str) -> str:
    return suggest_task(f"gym/{name}") or (
        f"name the module that registers it, as in gym/my_module:{name or 'MyMaze-v0'}."
    )


def function_of(env_id: str) -> Callable[..., Any] | None:
    """The function that makes `env_id`; None if it is an id of Gymnasium's, or neither."""
    module, _, name = env_id.rpartition(":")
    if not module or name in gymnasium.registry:
        return None
    try:
        found = load_named(env_id, f"gym/{env_id} is made by a module", object)
    except UsageError:
        return None
    return found if callable(found) else None


def missing_package(task: str, error: Exception) -> str:
    """What to install for a task whose environments cannot be made without it."""
    # Gymnasium's own errors already name the command; Python's name only the module.
    if isinstance(error, ModuleNotFoundError) and error.name:
        package = error.name.partition(".")[0]
        return f"{task} needs a package that is not installed: pip install {package}."
    return f"{task} needs a package that is not installed: {one_line(error)}"


def one_line(thing: object) -> str:
    """Its text, without line breaks."""
    return " ".join(str(thing).split())
