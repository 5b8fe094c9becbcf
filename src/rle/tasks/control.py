"""The paper's nine continuous-control tasks, played on MuJoCo.

Isaac Gym, which the paper used, is withdrawn. EnvPool has eight robots that do the same or the like,
with their assets; the ninth, BallBalance, is a model of our own.
"""

from __future__ import annotations

from rle.machine import cores
from rle.tasks import ballbalance
from rle.tasks.base import Task
from rle.tasks.envpool import EnvPoolTask
from rle.tasks.suite import Wanted
from rle.tasks.suites.control import BALL_BALANCE, ROBOTS, check_control_name


def make_control_task(wanted: Wanted) -> Task:
    """Build one of the nine; actions are float32, as the task's `spec` bounds them."""
    check_control_name(wanted.name)
    config = wanted.config
    if wanted.name != BALL_BALANCE:
        robot = ROBOTS[wanted.name]
        task = EnvPoolTask(
            robot.env_id,
            config,
            wanted.device,
            "control",
            observed=robot.observed,
            pictures=wanted.pictures,
            engine_threads=wanted.engine_threads,
        )
        task.steps_per_second = robot.steps_per_second
        return task
    limit = ballbalance.TIME_LIMIT if config.time_limit is None else config.time_limit
    threads = wanted.engine_threads or cores()
    return ballbalance.BallBalance(config.num_envs, limit, threads, wanted.device)
