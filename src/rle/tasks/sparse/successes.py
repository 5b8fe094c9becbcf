"""Environments of EnvPool whose episodes succeed or do not: that is what is reported of them.

The learner is rewarded as the environment rewards; the score of an episode is its success, 1 or 0.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
from torch import Tensor

from rle.config import EnvironmentConfig
from rle.tasks.envpool import Array, EnvPoolTask, load_envpool
from rle.tasks.suite import Wanted
from rle.tasks.suites.sparse import Engine


@contextmanager
def _without_talk_of_precision() -> Iterator[None]:
    """Bounds of 0.07 are not exact in 32 bits, says Gymnasium: nobody can do anything about it."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "(?s).*precision lowered by casting to float32")
        yield


def _holding(engine: Engine) -> dict[str, int]:
    """EnvPool's options by which actions are held; an episode has as many frames as without."""
    if engine.held == 1:
        return {}
    frames = load_envpool(engine.extra).make_spec(engine.env_id).config.max_episode_steps
    return {"frame_skip": engine.held, "max_episode_steps": frames // engine.held}


class SuccessTask(EnvPoolTask):
    """N environments of EnvPool; an episode succeeds once enough of its steps did."""

    def __init__(self, engine: Engine, wanted: Wanted) -> None:
        config: EnvironmentConfig = wanted.config
        with _without_talk_of_precision():
            super().__init__(
                engine.env_id,
                config,
                wanted.device,
                engine.extra,
                options=_holding(engine),
                observed=engine.observed,
                pictures=wanted.pictures,
                engine_threads=wanted.engine_threads,
            )
        self.steps_per_second = engine.steps_per_second
        self._needed = engine.needed
        self._by_ending = engine.by_ending
        self._good = np.zeros(config.num_envs, dtype=np.int64)
        """int64 `[N]`: steps of the episodes under way that counted towards success."""

    def _build(self, seed: int) -> Tensor:
        self._good = np.zeros_like(self._good)
        with _without_talk_of_precision():
            return super()._build(seed)

    def _record(
        self, reward: Array, terminated: Array, truncated: Array, info: Mapping[str, Any]
    ) -> tuple[Array, None]:
        counts = (terminated if self._by_ending else reward > 0) & ~self._no_transition
        self._good += counts
        succeeded = counts & (self._good == self._needed)
        self._good = np.where(terminated | truncated, 0, self._good)
        return succeeded.astype(np.float32), None
