"""A count bonus in one file: 1/√N(s') of the cell that an observation is rounded to.

rle train fourroom --explore count_bonus:CountBonus --count.coefficient 0.5
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from rle.explore import Strategy, Stream, Transitions


@dataclass(frozen=True)
class CountSettings:
    """How places are told apart, and what a new one is worth."""

    coefficient: float = 0.1
    """Weight of the bonus advantage."""
    discount: float = 0.99
    """Of the bonus return."""
    cells: float = 25.0
    """Cells per unit of an observation."""


class CountBonus(Strategy):
    """A bonus of 1/√N where the agent has been N times (Strehl & Littman 2008)."""

    name = "count"
    settings = CountSettings

    def __init__(self, config: Any, settings: CountSettings, spec: Any, device: Any) -> None:
        self._cells = settings.cells
        self._counts: dict[int, int] = {}
        self._pending: list[int] = []
        self.streams = (Stream("count", settings.coefficient, settings.discount, 0.5, scale=True),)

    def _keys(self, transitions: Transitions) -> list[int]:
        """One number for each cell `[B]`: a hash of the rounded observation."""
        cells = (transitions.next_observation.flatten(1) * self._cells).round().long()
        primes = torch.tensor([73856093, 19349663, 83492791, 2654435761], device=cells.device)
        weights = primes[torch.arange(cells.shape[1], device=cells.device) % len(primes)]
        return (cells * weights).sum(-1).tolist()

    def bonus(self, transitions: Transitions) -> Tensor:
        counts = [self._counts.get(key, 0) for key in self._keys(transitions)]
        device = transitions.next_observation.device
        return (torch.tensor(counts, device=device) + 1.0).rsqrt()[:, None]

    def observe(self, transitions: Transitions) -> None:
        self._pending += self._keys(transitions)

    def after_rollout(self) -> None:
        for key in self._pending:
            self._counts[key] = self._counts.get(key, 0) + 1
        self._pending.clear()

    def metrics(self) -> dict[str, float]:
        return {"count_cells": float(len(self._counts))}

    def state_dict(self) -> dict[str, Any]:
        pairs = list(self._counts.items())
        return {"counts": torch.tensor(pairs, dtype=torch.int64).view(-1, 2)}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._counts = dict(map(tuple, state["counts"].tolist()))
