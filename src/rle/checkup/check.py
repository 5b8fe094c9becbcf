"""`check`: a doctor for a task before training, and for a run after it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rle.checks import require, require_positive
from rle.checkup.after import check_run
from rle.errors import UsageError
from rle.explore.registry import check_strategy_name
from rle.findings.finding import Finding
from rle.naming import is_file, is_folder
from rle.presets import preset_config
from rle.runs.directory import CONFIG, RunDirectory
from rle.settings import replace
from rle.tasks.registry import check_task_name

STEPS = 8192
"""Random steps that are played: a thousand in each of eight environments, which is the time limit of
FourRoom and of most simulated robots."""


def check(
    what: Any,
    explore: str = "rle",
    *,
    preset: str | None = None,
    steps: int = STEPS,
    **settings: Any,
) -> list[Finding]:
    """Look for what keeps RLE from working, and say what to change; the worst comes first.

    Before training, random actions are played in the task with the settings that `train` would have.
    After it, the run's log is read.

    Args:
        what: a run directory; or what `train` takes: a task's name, a function that makes a Gymnasium
            environment, a vector environment, a `Task`. One Gymnasium environment will do too.
            Environments that are handed over are played in and left open.
        explore: as in `train`.
        preset: as in `train`.
        steps: how many random steps to play, over all environments.
        settings: as in `train`.

    Raises:
        UsageError: a name or a value is wrong, or the task cannot be built.

    """
    if is_run(what):
        require(not settings, f"{what} is a run, which has its settings: leave them out.")
        return check_run(what if isinstance(what, RunDirectory) else RunDirectory.open(what))
    require_positive("steps", steps)
    from rle.tasks.handed_over import is_found_by_name, name_of, size_of

    env = _as_train_takes_it(what)
    name = name_of(env)
    if is_found_by_name(name):
        check_name(name)
    check_strategy_name(explore)
    size = size_of(env)
    if size is not None:
        settings.setdefault("num_envs", size)
    config = replace(preset_config(name, explore, preset), settings)
    from rle.checkup.before import check_task

    if env is not what:
        return check_task(config, steps, env, settings, alone=True)
    return check_task(config, steps, None if is_found_by_name(name) else env, settings)


def is_run(what: Any) -> bool:
    """Whether it is a run directory, or its path."""
    if isinstance(what, RunDirectory | Path):
        return True
    return isinstance(what, str) and is_file(Path(what) / CONFIG)


def check_name(name: str) -> None:
    """Raise `UsageError` unless `name` is a task's."""
    try:
        check_task_name(name)
    except UsageError:
        if is_folder(Path(name)):
            RunDirectory.open(name)  # says that the folder holds no run
        raise


def _as_train_takes_it(what: Any) -> Any:
    """A function that makes it in the place of a single environment, all else as it is."""
    if isinstance(what, str):
        return what
    import gymnasium

    if not isinstance(what, gymnasium.Env):
        return what
    from rle.checkup.left_open import LeftOpen

    def make() -> gymnasium.Env[Any, Any]:
        return LeftOpen(what)

    make.__name__ = type(what.unwrapped).__name__
    return make
