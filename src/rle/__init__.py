"""Random Latent Exploration for deep reinforcement learning (Mahankali et al., ICML 2024).

Every verb of the command `rle` is a function here: `train`, `resume`, `eval`, `study`,
`report`, `list`, `check` and `bench`. `eval` and `list` are also called `evaluate` and `available`: so
`from rle import *` has them, and leaves Python's own alone. Names and not verbs are the building blocks
below them. The method alone, for agents of one's own, is `rle.core`.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from rle.environments import register_with_gymnasium
from rle.lazy import lazy_names

if TYPE_CHECKING:
    from rle import core, explore, report, studies, tasks
    from rle.agents import Agent
    from rle.checkup.check import check
    from rle.config import RunConfig
    from rle.errors import RunError, UsageError
    from rle.findings.finding import Finding
    from rle.presets import preset_config
    from rle.runs.bench import bench
    from rle.runs.callbacks import Callback
    from rle.runs.directory import RunDirectory
    from rle.runs.evaluate import evaluate
    from rle.runs.film import film
    from rle.runs.loading import load
    from rle.runs.train import resume, train, train_config
    from rle.settings import replace
    from rle.studies.running import study
    from rle.studies.status import study_status

    __version__: str

__all__ = [
    "Agent",
    "Callback",
    "Finding",
    "RunConfig",
    "RunDirectory",
    "RunError",
    "UsageError",
    "available",
    "bench",
    "check",
    "core",
    "evaluate",
    "explore",
    "film",
    "load",
    "preset_config",
    "replace",
    "report",
    "resume",
    "studies",
    "study",
    "study_status",
    "tasks",
    "train",
    "train_config",
]

_find = lazy_names(
    "rle",
    {
        "Agent": "rle.agents.agent",
        "Callback": "rle.runs.callbacks",
        "Finding": "rle.findings.finding",
        "RunConfig": "rle.config",
        "RunDirectory": "rle.runs.directory",
        "RunError": "rle.errors",
        "UsageError": "rle.errors",
        "bench": "rle.runs.bench",
        "check": "rle.checkup.check",
        "core": "rle.core",
        "evaluate": "rle.runs.evaluate",
        "explore": "rle.explore",
        "film": "rle.runs.film",
        "load": "rle.runs.loading",
        "preset_config": "rle.presets",
        "replace": "rle.settings",
        "report": "rle.report",
        "resume": "rle.runs.train",
        "studies": "rle.studies",
        "study": "rle.studies.running",
        "study_status": "rle.studies.status",
        "tasks": "rle.tasks",
        "train": "rle.runs.train",
        "train_config": "rle.runs.train",
    },
)

register_with_gymnasium()


def available(what: str, folder: Any = None) -> dict[str, str]:
    """Names and descriptions of `tasks`, `strategies` or `studies`, or of the `runs` below `folder`.

    Of runs: state, steps, score and size; `folder` is `runs` if it is not given.
    """
    from rle.checks import nearest
    from rle.errors import UsageError
    from rle.explore.registry import strategy_names
    from rle.runs.listing import list_runs
    from rle.studies.catalogue import study_names
    from rle.tasks.registry import task_names

    lists = {"tasks": task_names, "strategies": strategy_names, "studies": study_names}
    if what == "runs":
        return list_runs(Path("runs" if folder is None else folder))
    if what not in lists:
        raise UsageError(f"there is no list of {what!r}: {nearest(what, [*lists, 'runs'])}")
    if folder is not None:
        raise UsageError(f"{what} are in no folder: leave out {str(folder)!r}.")
    return lists[what]()


if TYPE_CHECKING:
    eval, list = evaluate, available


def __getattr__(name: str) -> Any:
    """Import what is used when it is used: `rle.core` needs PyTorch and nothing else."""
    if name == "__version__":
        from importlib.metadata import version

        return version("random-latent-exploration")
    if name == "list":
        return available
    return _find("evaluate" if name == "eval" else name)
