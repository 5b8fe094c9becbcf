"""Gymnasium: every environment that is registered with it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from rle.config import EnvironmentConfig
from rle.tasks.suite import Suite, register

if TYPE_CHECKING:
    import torch

    from rle.tasks.base import Task


def _names() -> Iterable[str]:
    import gymnasium

    return gymnasium.registry


def _check(name: str) -> None:
    from rle.tasks.gym import check_gym_id

    check_gym_id(name)


def _build(
    name: str,
    config: EnvironmentConfig,
    device: torch.device,
    *,
    engine_threads: int,
    pictures: bool,
) -> Task:
    from rle.tasks.gym import GymTask

    return GymTask(name, config, device, pictures)


SUITE = register(
    Suite(
        name="gym",
        tasks={
            "<id>": "any Gymnasium environment with Box (or Dict) observations, e.g. gym/CartPole-v1",
        },
        build=_build,
        names=_names,
        check=_check,
        takes=lambda name: ("autoreset",),
        gymnasium_id=lambda name: name,
    )
)
