"""The paper's nine continuous-control tasks, played on MuJoCo.

Isaac Gym, which the paper used, is withdrawn. EnvPool has eight robots that do the same or the like,
with their assets; the ninth, BallBalance, is a model of our own.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import torch

from rle.checks import nearest
from rle.config import EnvironmentConfig
from rle.errors import UsageError
from rle.machine import cores
from rle.tasks import ballbalance
from rle.tasks.base import Task
from rle.tasks.envpool import EnvPoolTask


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


def make_control_task(
    name: str,
    config: EnvironmentConfig,
    device: torch.device,
    pictures: bool = False,
    engine_threads: int = 0,
) -> Task:
    """Build the task called `name`; actions are float32, as the task's `spec` bounds them."""
    check_control_name(name)
    if name != BALL_BALANCE:
        robot = ROBOTS[name]
        task = EnvPoolTask(
            robot.env_id,
            config,
            device,
            "control",
            observed=robot.observed,
            pictures=pictures,
            engine_threads=engine_threads,
        )
        task.steps_per_second = robot.steps_per_second
        return task
    limit = ballbalance.TIME_LIMIT if config.time_limit is None else config.time_limit
    threads = engine_threads or cores()
    return ballbalance.BallBalance(config.num_envs, limit, threads, device)
