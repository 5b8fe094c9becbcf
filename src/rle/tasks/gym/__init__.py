"""Gymnasium environments as tasks: their names, their spaces, both auto-reset modes, exact resume."""

from rle.tasks.gym.names import check_gym_id
from rle.tasks.gym.task import GymTask, make_gym_task, task_made_by
from rle.tasks.gym.vector import VectorTask

__all__ = ["GymTask", "VectorTask", "check_gym_id", "make_gym_task", "task_made_by"]
