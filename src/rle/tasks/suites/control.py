"""The paper's nine continuous-control tasks, on MuJoCo."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from rle.checks import nearest
from rle.errors import UsageError
from rle.tasks.suite import Suite, Wanted, register

if TYPE_CHECKING:
    from rle.tasks.base import Task


class Robot(NamedTuple):
    """An EnvPool environment, its pace, and what the agent sees of it."""

    env_id: str
    steps_per_second: float
    observed: tuple[str, ...] = ()
    """Parts of an observation that is a dictionary; none named: all. What a simulator knows and a
    robot would not (`privileged_state`) is left out."""


ROBOTS: Mapping[str, Robot] = {
    "Ant": Robot("Ant-v5", 20),
    "Humanoid": Robot("Humanoid-v5", 1 / 0.015),
    "Cartpole": Robot("CartpoleBalance-v1", 100, ("position", "velocity")),
    "FrankaCabinet": Robot("PandaOpenCabinet-v1", 50),
    "Anymal": Robot("SpotFlatTerrainJoystick-v1", 50, ("state",)),
    "AnymalTerrain": Robot("Go1JoystickRoughTerrain-v1", 50, ("state",)),
    "AllegroHand": Robot("LeapCubeReorient-v1", 20, ("state",)),
    "ShadowHand": Robot(
        "HandManipulateBlockRotateXYZDense-v1", 25, ("observation", "achieved_goal", "desired_goal")
    ),
}
BALL_BALANCE = "BallBalance"
TASKS = (*ROBOTS, BALL_BALANCE)
"""The names of the nine."""


def check_control_name(name: str) -> None:
    """Raise `UsageError` with the nearest name unless `name` is one of the nine."""
    if name not in TASKS:
        raise UsageError(f"there is no control task {name!r}: {nearest(name, TASKS)}")


def _build(wanted: Wanted) -> Task:
    from rle.tasks.control import make_control_task

    return make_control_task(wanted)


SUITE = register(
    Suite(
        name="control",
        tasks={
            "<Task>": "a robot on MuJoCo, extra: control: Cartpole, Ant, Humanoid, FrankaCabinet, "
            "Anymal, AnymalTerrain, AllegroHand, ShadowHand or BallBalance",
        },
        build=_build,
        names=lambda: TASKS,
        check=check_control_name,
        takes=lambda name: ("engine_threads",),
        images=False,
        continuous=True,
        gymnasium_id={BALL_BALANCE: "rle/BallBalance-v0"}.get,
    )
)
