"""Task names: which suite each belongs to, and the task itself."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import rle.tasks.suites  # noqa: F401  makes them known
from rle.config import EnvironmentConfig
from rle.errors import UsageError
from rle.modules import installed, load_all_installed, load_installed, load_named
from rle.tasks.suite import SUITES, Suite, Wanted

if TYPE_CHECKING:
    import torch

    from rle.tasks.base import Task

ENTRY_POINTS = "rle.suites"
"""The group in which installed packages name suites of theirs."""


def task_names() -> dict[str, str]:
    """Every task name with one line about it; open-ended suites as a pattern."""
    brought = load_all_installed(ENTRY_POINTS, Suite)
    suites = SUITES | {n: _called(n, suite) for n, suite in brought.items() if n not in SUITES}
    return {
        suite.full_name(name): line
        for suite in suites.values()
        for name, line in suite.tasks.items()
    }


def _called(name: str, suite: Suite) -> Suite:
    """A suite that is brought along, under the name by which its tasks are found again."""
    return dataclasses.replace(suite, name=name, bare=False)


def suite_of(task: str) -> tuple[Suite, str]:
    """The suite that a task belongs to, and the task's name within it.

    Before the slash stands the name of a suite, of this package or of an installed one, or
    `module:name` of one in a module of the user's.
    """
    head, slash, name = task.partition("/")
    suite = _find_suite(head) if slash else None
    if suite is not None and not suite.bare:
        return suite, name
    for suite in SUITES.values():
        if suite.bare and task in suite.known_names():
            return suite, task
    raise UsageError(_unknown(task))


def _find_suite(name: str) -> Suite | None:
    if name in SUITES:
        return SUITES[name]
    if ":" in name:
        return _called(name, load_named(name, f"{name} is to be a suite", Suite))
    if name in installed(ENTRY_POINTS):
        return _called(name, load_installed(ENTRY_POINTS, name, Suite))
    return None


def _unknown(task: str) -> str:
    from rle.tasks.suggest import suggest_task

    if ":" in task:
        return (
            f"there is no task {task!r}: a Gymnasium environment is gym/{task}, and a task of a suite "
            f"of yours {task}/<task>."
        )
    advice = suggest_task(task) or f"choose one of: {', '.join(task_names())}."
    return f"there is no task {task!r}: {advice}"


def check_task_name(task: str) -> None:
    """Raise `UsageError` with the nearest name unless `task` is one."""
    suite, name = suite_of(task)
    suite.check_name(name)


def is_task_name(name: str) -> bool:
    """Whether there is a suite that has, or may have, such a task."""
    try:
        suite_of(name)
    except UsageError:
        return False
    return True


def make_task(
    task: str,
    config: EnvironmentConfig,
    device: torch.device,
    *,
    engine_threads: int = 0,
    pictures: bool = False,
) -> Task:
    """Build the task called `task`.

    Args:
        engine_threads: of a suite that steps its environments in threads; 0: one per core.
        pictures: also load what the task's `picture` needs.

    """
    suite, name = suite_of(task)
    suite.check_name(name)
    engine = suite.build(Wanted(name, config, device, engine_threads, pictures))
    # Not before there is one: Task needs PyTorch.
    from rle.tasks.base import Task

    if not isinstance(engine, Task):
        kind = type(engine).__name__
        raise UsageError(f"the suite of {task} builds something of the kind {kind}: return a Task.")
    return as_shown(engine, config, device)


def as_shown(task: Task, config: EnvironmentConfig, device: torch.device) -> Task:
    """`task` with its observations normalised, if they are vectors and `config` says so."""
    if not config.normalise_observations or task.spec.is_image:
        return task
    from rle.tasks.normalise import NormalisedTask

    return NormalisedTask(task, config.observation_clip, device)
