"""Gymnasium: every environment that is registered with it, or made by a function of the user's."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from rle.tasks.suite import Suite, Wanted, register
from rle.tasks.suites.handed_over import ask_again

if TYPE_CHECKING:
    from rle.tasks.base import Task


def _names() -> Iterable[str]:
    import gymnasium

    return gymnasium.registry


def _check(name: str) -> None:
    if name.startswith("<"):
        raise ask_again(f"gym/{name}")
    from rle.tasks.gym import check_gym_id

    check_gym_id(name)


def _gymnasium_id(name: str) -> str | None:
    import gymnasium

    return name if name.rpartition(":")[2] in gymnasium.registry else None


def _build(wanted: Wanted) -> Task:
    from rle.tasks.gym import make_gym_task

    return make_gym_task(wanted.name, wanted.config, wanted.device, wanted.pictures)


SUITE = register(
    Suite(
        name="gym",
        tasks={
            "<id>": "any Gymnasium environment, e.g. gym/CartPole-v1 (docs/tasks.md: which spaces)",
            "<module>:<id>": "the same, registered by a module of yours",
            "<module>:<function>": "the same, made by a function of yours",
        },
        build=_build,
        names=_names,
        check=_check,
        takes=lambda name: (
            "autoreset",
            "env_kwargs",
            "wrappers",
            "frame_stack",
            "grayscale",
            "resize",
        ),
        gymnasium_id=_gymnasium_id,
    )
)
