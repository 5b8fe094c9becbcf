"""EnvPool: whatever the installed version of it has."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rle.tasks.suite import Suite, Wanted, register

if TYPE_CHECKING:
    from rle.tasks.base import Task


def _check(name: str) -> None:
    from rle.tasks.envpool import check_envpool_id

    check_envpool_id(name)


def _build(wanted: Wanted) -> Task:
    from rle.tasks.envpool import EnvPoolTask

    return EnvPoolTask(
        wanted.name,
        wanted.config,
        wanted.device,
        pictures=wanted.pictures,
        engine_threads=wanted.engine_threads,
    )


SUITE = register(
    Suite(
        name="envpool",
        tasks={
            "<id>": "any EnvPool environment, e.g. envpool/CoinrunHard-v0 (extra: envpool)",
        },
        build=_build,
        # To list them, EnvPool would have to be loaded: too long for a suggestion.
        names=lambda: (),
        check=_check,
        takes=lambda name: ("engine_threads",),
    )
)
