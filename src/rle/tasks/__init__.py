"""Where experience comes from: one file per suite, all behind the `Task` contract."""

from typing import TYPE_CHECKING

from rle.lazy import lazy_names

if TYPE_CHECKING:
    from rle.tasks.base import (
        ActionSpace,
        Continuous,
        Discrete,
        MultiDiscrete,
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
    "MultiDiscrete",
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

_OF_REGISTRY = ("check_task_name", "make_task", "task_names")
# The contract needs PyTorch; which tasks there are can be said without.
__getattr__ = lazy_names(
    __name__,
    {
        **dict.fromkeys(__all__, "rle.tasks.base"),
        **dict.fromkeys(_OF_REGISTRY, "rle.tasks.registry"),
        "Suite": "rle.tasks.suite",
    },
)
