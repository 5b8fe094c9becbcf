"""Episode returns and lengths, from rollouts whose borders episodes cross."""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

import torch
from torch import Tensor

from rle.runs.logs import WINDOW
from rle.tasks.base import State


class Episode(NamedTuple):
    """One finished episode."""

    row: int
    env: int
    score: float
    length: int


class EpisodeTracker:
    """Adds up scores per environment until an episode is over."""

    def __init__(self, num_envs: int) -> None:
        self._score = torch.zeros(num_envs, dtype=torch.float64)
        self._length = torch.zeros(num_envs, dtype=torch.int64)
        self.recent: deque[float] = deque(maxlen=WINDOW)

    def take(self, score: Tensor, over: Tensor, real: Tensor | None) -> list[Episode]:
        """Take in `[T, N]` scores; returns the episodes that ended, in order of time."""
        score, over = score.cpu().double(), over.cpu()
        counted = torch.ones_like(over) if real is None else real.cpu()
        totals = self._score + torch.where(counted, score, 0.0).cumsum(0)
        lengths = self._length + counted.long().cumsum(0)
        finished = []
        score_before = torch.zeros_like(self._score)
        length_before = torch.zeros_like(self._length)
        for row, env in over.nonzero().tolist():
            total, length = totals[row, env], lengths[row, env]
            finished.append(
                Episode(
                    row,
                    env,
                    float(total - score_before[env]),
                    int(length - length_before[env]),
                )
            )
            score_before[env], length_before[env] = total, length
        self._score = totals[-1] - score_before
        self._length = lengths[-1] - length_before
        self.recent.extend(episode.score for episode in finished)
        return finished

    def longest(self) -> tuple[int, int]:
        """The environment whose episode under way is the longest, and its steps so far."""
        length, env = self._length.max(0)
        return int(env), int(length)

    def abandon(self) -> None:
        """Forget the episodes under way: they will not be finished."""
        self._score.zero_()
        self._length.zero_()

    def state_dict(self) -> State:
        return {"score": self._score, "length": self._length, "recent": list(self.recent)}

    def load_state_dict(self, state: State) -> None:
        self._score = state["score"]
        self._length = state["length"]
        self.recent = deque(state["recent"], maxlen=WINDOW)
