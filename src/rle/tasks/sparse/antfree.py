"""AntFree: the Ant of Gymnasium without its reward, and how much of the plane it reaches.

The world is Ant-v5 on EnvPool, which ends an episode where the ant jumps or falls (its torso below 0.2 m
or above 1 m) and after 1000 steps; the reward is always 0. The agent sees what Ant-v5 shows, which has
neither x nor y: they are read beside it, for the measure alone. The measure is the coverage: the share
of the 2500 cells of 1 m x 1 m within 25 m of the origin, along x and along y, that any of the ants has
been in since the run began. It has no success, and the score of its episodes is 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor

from rle.tasks.base import State, Step
from rle.tasks.envpool import Array, EnvPoolTask
from rle.tasks.suite import Wanted

ENV_ID = "Ant-v5"
REACH = 25
"""Metres from the origin to the edge of the square, which has (2 * 25)² cells."""


class AntFree(EnvPoolTask):
    """N ants, and the cells they have been in together."""

    steps_per_second = 20
    summed = ("visits",)

    def __init__(self, wanted: Wanted) -> None:
        super().__init__(
            ENV_ID,
            wanted.config,
            wanted.device,
            "control",
            pictures=wanted.pictures,
            engine_threads=wanted.engine_threads,
        )
        self._visits = np.zeros((2 * REACH, 2 * REACH), dtype=np.int64)

    def reset(self, seed: int) -> Tensor:
        self._visits[:] = 0
        return super().reset(seed)

    def step(self, action: Tensor) -> Step:
        step = super().step(action)
        return step._replace(reward=torch.zeros_like(step.reward))

    def _record(
        self, reward: Array, terminated: Array, truncated: Array, info: Mapping[str, Any]
    ) -> tuple[None, None]:
        place = np.stack([info["x_position"], info["y_position"]])
        cells = np.floor(place).astype(np.int64) + REACH
        inside = (cells >= 0).all(0) & (cells < 2 * REACH).all(0) & ~self._no_transition
        np.add.at(self._visits, tuple(cells[:, inside]), 1)
        return None, None

    def measures(self) -> dict[str, float]:
        """Share of the cells that were reached."""
        return {"coverage": float((self.artefacts()["visits"] > 0).double().mean())}

    def artefacts(self) -> dict[str, Tensor]:
        """How often each cell was entered, on all devices."""
        return {"visits": self.world.sum(torch.from_numpy(self._visits.copy()))}

    def state_dict(self) -> State:
        return super().state_dict() | {"visits": torch.from_numpy(self._visits.copy())}

    def load_state_dict(self, state: State) -> None:
        super().load_state_dict(state)
        self._visits = state["visits"].cpu().numpy().copy()
