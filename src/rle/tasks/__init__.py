"""Where experience comes from: one file per suite, all behind the `Task` contract."""

from rle.tasks.base import (
    ActionSpace,
    Continuous,
    Discrete,
    State,
    Step,
    Task,
    TaskSpec,
    random_actions,
)
from rle.tasks.registry import check_task_name, make_task, task_names
from rle.tasks.suite import Suite

__all__ = [
    "ActionSpace",
    "Continuous",
    "Discrete",
    "State",
    "Step",
    "Suite",
    "Task",
    "TaskSpec",
    "check_task_name",
    "make_task",
    "random_actions",
    "task_names",
]
