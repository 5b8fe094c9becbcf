"""Random Latent Exploration for deep reinforcement learning (Mahankali et al., ICML 2024).

Every verb of the command `rle` is a function here: `train`, `resume`, `eval`, `study`,
`report`, `list` and `bench`. Names and not verbs are the building blocks below them. The method alone,
for agents of one's own, is `rle.core`.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from rle.environments import register_with_gymnasium

if TYPE_CHECKING:
    from rle import core, explore, report, studies, tasks
    from rle.agents import Agent
    from rle.config import RunConfig
    from rle.errors import UsageError
    from rle.presets import preset_config
    from rle.runs import Callback, RunDirectory, evaluate, load, resume, train, train_config
    from rle.runs.bench import bench
    from rle.runs.evaluate import evaluate as eval
    from rle.runs.film import film
    from rle.settings import replace
    from rle.studies import study

    __version__: str

__all__ = [
    "Agent",
    "Callback",
    "RunConfig",
    "RunDirectory",
    "UsageError",
    "bench",
    "core",
    "eval",
    "evaluate",
    "explore",
    "film",
    "list",
    "load",
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

_PARTS = ("core", "explore", "report", "studies", "tasks")
_PLACES = {
    "Agent": "rle.agents",
    "Callback": "rle.runs",
    "RunConfig": "rle.config",
    "RunDirectory": "rle.runs",
    "UsageError": "rle.errors",
    "bench": "rle.runs.bench",
    "evaluate": "rle.runs",
    "film": "rle.runs.film",
    "load": "rle.runs",
    "preset_config": "rle.presets",
    "replace": "rle.settings",
    "resume": "rle.runs",
    "study": "rle.studies",
    "train": "rle.runs",
    "train_config": "rle.runs",
}
"""Where each name is defined."""

register_with_gymnasium()


def list(what: str) -> dict[str, str]:
    """Names and descriptions of `tasks`, `strategies` or `studies`."""
    from rle import explore, studies, tasks
    from rle.checks import nearest
    from rle.errors import UsageError

    lists = {
        "tasks": tasks.task_names,
        "strategies": explore.strategy_names,
        "studies": studies.study_names,
    }
    if what not in lists:
        raise UsageError(f"there is no list of {what!r}: {nearest(what, lists)}")
    return lists[what]()


def __getattr__(name: str) -> Any:
    """Import what is used when it is used: `rle.core` needs PyTorch and nothing else."""
    if name == "__version__":
        return importlib.import_module("importlib.metadata").version("random-latent-exploration")
    if name == "eval":
        name = "evaluate"
    if name in _PARTS:
        return importlib.import_module(f"rle.{name}")
    if name in _PLACES:
        return getattr(importlib.import_module(_PLACES[name]), name)
    raise AttributeError(f"module 'rle' has no attribute {name!r}")
