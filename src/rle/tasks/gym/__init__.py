"""Gymnasium environments as tasks: their names, their spaces, both auto-reset modes, exact resume."""

from typing import TYPE_CHECKING

from rle.lazy import lazy_names

if TYPE_CHECKING:
    from rle.tasks.gym.names import check_gym_id
    from rle.tasks.gym.task import GymTask, make_gym_task, task_made_by
    from rle.tasks.gym.vector import VectorTask

__all__ = ["GymTask", "VectorTask", "check_gym_id", "make_gym_task", "task_made_by"]

# A task needs PyTorch; whether there is an environment of a name can be said without.
__getattr__ = lazy_names(
    __name__,
    {
        **dict.fromkeys(__all__, "rle.tasks.gym.task"),
        "VectorTask": "rle.tasks.gym.vector",
        "check_gym_id": "rle.tasks.gym.names",
    },
)
