"""Stacks of frames of which neighbours share all but one: every frame is kept once."""

from __future__ import annotations

import torch
from torch import Tensor


class StackedFrames:
    """Observations `[rows, N, C, H, W]` whose channels are frames one after the other.

    An observation mostly shows what the one before it did, moved on by a frame. Then only the newest
    frame is kept, and else all of them: four stacked frames take a quarter of the memory.
    """

    def __init__(
        self, rows: int, num_envs: int, shape: tuple[int, ...], frames: int, dtype: torch.dtype
    ) -> None:
        """`shape` is `[C, H, W]`, with `frames` frames of C / `frames` channels each."""
        self._depth = frames
        one_frame = (shape[0] // frames, *shape[1:])
        # As many as there are if no episode ends; more are found room for.
        self._frames = torch.empty((rows + frames) * num_envs, *one_frame, dtype=dtype)
        self._used = 0
        self._places = torch.zeros(rows, num_envs, frames, dtype=torch.int64)
        """Which of the frames each observation is made of."""

    def begin(self) -> None:
        """Forget everything: row 0 is written next."""
        self._used = 0

    def write(self, row: int, observation: Tensor) -> None:
        """Store `[N, C, H, W]` as `row`; the row before it is there."""
        shown = observation.unflatten(1, (self._depth, -1))
        places = self._places[row]
        if row == 0:
            going_on = torch.zeros(len(shown), dtype=torch.bool)
        else:
            before = self._places[row - 1, :, 1:]
            going_on = (shown[:, :-1] == self._frames[before]).flatten(1).all(1)
            places[going_on, :-1] = before[going_on]
        places[going_on, -1] = self._keep(shown[going_on, -1])
        other = ~going_on
        places[other] = self._keep(shown[other].flatten(0, 1)).view(-1, self._depth)

    def _keep(self, frames: Tensor) -> Tensor:
        """Store `[F, ...]`; returns their places `[F]`."""
        end = self._used + len(frames)
        if end > len(self._frames):
            more = torch.empty_like(self._frames[: max(len(self._frames) // 4, len(frames))])
            self._frames = torch.cat([self._frames, more])
        self._frames[self._used : end] = frames
        places = torch.arange(self._used, end)
        self._used = end
        return places

    def __getitem__(self, index: Tensor) -> Tensor:
        """Observations `[b, C, H, W]` by their flat numbers row · N + n, `[b]`."""
        return self._frames[self._places.flatten(0, 1)[index]].flatten(1, 2)
