"""Objects that a Python program hands over: known by name in its run directories, made by it alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rle.errors import UsageError
from rle.tasks.suite import Suite, Wanted, register

if TYPE_CHECKING:
    from rle.tasks.base import Task


def ask_again(task: str) -> UsageError:
    """What to say where a task is needed of which only the name is known."""
    return UsageError(
        f"{task} is an object that a Python program handed over: let it hand it over again, as in "
        "rle.resume(path, env=...) or rle.eval(path, env=...)."
    )


def _check(name: str) -> None:
    raise ask_again(f"task/{name}")


def _build(wanted: Wanted) -> Task:
    raise ask_again(f"task/{wanted.name}")


SUITE = register(Suite(name="task", tasks={}, build=_build, check=_check))
