"""Random Latent Exploration for deep reinforcement learning (Mahankali et al., ICML 2024).

Every verb of the command `rle` is a function here: `train`, `resume`, `eval`, `study`,
`report`, `list` and `bench`. Names and not verbs are the building blocks below them.
"""

from __future__ import annotations

import importlib
from importlib import metadata
from typing import TYPE_CHECKING, Any

from rle import explore, studies, tasks
from rle.checks import nearest
from rle.config import RunConfig
from rle.errors import UsageError
from rle.presets import preset_config
from rle.runs import RunDirectory, evaluate, resume, train, train_config
from rle.settings import replace
from rle.studies import study
from rle.tasks import ballbalance_gym as _ballbalance_gym
from rle.tasks import fourroom_gym as _fourroom_gym

if TYPE_CHECKING:
    from rle import report
    from rle.runs.bench import bench
    from rle.runs.film import film

__version__ = metadata.version("random-latent-exploration")
__all__ = [
    "RunConfig",
    "RunDirectory",
    "UsageError",
    "bench",
    "eval",
    "evaluate",
    "explore",
    "film",
    "list",
    "preset_config",
    "replace",
    "report",
    "resume",
    "studies",
    "study",
    "tasks",
    "train",
    "train_config",
]

_fourroom_gym.register()
_ballbalance_gym.register()


eval = evaluate


def list(what: str) -> dict[str, str]:
    """Names and descriptions of `tasks`, `strategies` or `studies`."""
    lists = {
        "tasks": tasks.task_names,
        "strategies": explore.strategy_names,
        "studies": studies.study_names,
    }
    if what not in lists:
        raise UsageError(f"there is no list of {what!r}: {nearest(what, lists)}")
    return lists[what]()


def __getattr__(name: str) -> Any:
    """Import what needs drawing or timing libraries only when it is used."""
    if name == "report":
        return importlib.import_module("rle.report")
    if name == "film":
        return importlib.import_module("rle.runs.film").film
    if name == "bench":
        return importlib.import_module("rle.runs.bench").bench
    raise AttributeError(f"module 'rle' has no attribute {name!r}")
