"""Our worlds' Gymnasium ids, known to Gymnasium as soon as it and this package are both imported.

Importing this package must not import Gymnasium: whoever only wants `rle.core` may not have it.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.util
import sys
from collections.abc import Sequence
from types import ModuleType
from typing import Any

TELEVISION = (12, 37)
"""Top left cell (row, column) of the registered noisy television."""
_FOURROOM = {"entry_point": "rle.tasks.fourroom_gym:FourRoomEnv", "max_episode_steps": 1000}
_BALLBALANCE = {"entry_point": "rle.tasks.ballbalance_gym:BallBalanceEnv", "max_episode_steps": 500}
ENVIRONMENTS: dict[str, dict[str, Any]] = {
    "rle/FourRoom-v0": _FOURROOM,
    "rle/FourRoomSparse-v0": _FOURROOM | {"kwargs": {"goal": True}},
    "rle/FourRoomNoisyTV-v0": _FOURROOM | {"kwargs": {"television": TELEVISION}},
    "rle/BallBalance-v0": _BALLBALANCE,
}
"""Gymnasium ids, and what `gymnasium.register` is told of each."""


def register() -> None:
    """Make the ids of `ENVIRONMENTS` known to Gymnasium; calling it again changes nothing."""
    import gymnasium

    for env_id, settings in ENVIRONMENTS.items():
        if env_id not in gymnasium.registry:
            gymnasium.register(env_id, **settings)


def register_with_gymnasium() -> None:
    """`register` now, if Gymnasium is there already, and otherwise right after it is imported."""
    if sys.modules.get("gymnasium") is not None:
        register()
    else:
        sys.meta_path.insert(0, _AfterGymnasium())


class _AfterGymnasium(importlib.abc.MetaPathFinder):
    """Finds Gymnasium as usual, once, and lets its import end with `register`."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != "gymnasium":
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(fullname)
        loader = None if spec is None else spec.loader
        if loader is not None:
            execute = loader.exec_module

            def execute_and_register(module: ModuleType) -> None:
                execute(module)
                register()

            loader.exec_module = execute_and_register  # type: ignore[method-assign]
        return spec
