"""What the environments of a vector show, as tensors: vectors, or the last frames of images."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from gymnasium import spaces
from gymnasium.vector import VectorEnv
from gymnasium.vector.utils import iterate
from torch import Tensor

from rle.tasks.base import State
from rle.tasks.gym.parts import Parts
from rle.tasks.images import ImageView


class Showing(ABC):
    """Observations of N environments, told when episodes begin and end."""

    shape: tuple[int, ...]
    """Of one environment's."""
    dtype: torch.dtype

    @abstractmethod
    def begin(self, observed: Any) -> Tensor:
        """`[N, *shape]`, where every environment begins an episode."""

    @abstractmethod
    def last(self, observed: Any, index: int) -> Tensor:
        """`[*shape]` at the end of an episode of environment `index`; `after` is called afterwards."""

    @abstractmethod
    def after(self, observed: Any, begun: npt.NDArray[np.bool_]) -> Tensor:
        """`[N, *shape]` after a step, which began an episode where `begun`, bool `[N]`."""

    def state_dict(self) -> State:
        """What it remembers of earlier steps."""
        return {}

    def load_state_dict(self, state: State) -> None:
        """Remember what `state_dict` said."""


class ShowingVectors(Showing):
    """Float32 vectors `[N, size]`: dictionaries, tuples and the like are flattened."""

    dtype = torch.float32

    def __init__(self, parts: Parts, vector: VectorEnv[Any, Any, Any]) -> None:
        self.shape = (spaces.flatdim(parts.space),)
        self._parts = parts
        self._vector = vector

    def begin(self, observed: Any) -> Tensor:
        if isinstance(self._parts.space, spaces.Box):
            return _floats(self._parts.pick(observed)).reshape(self._vector.num_envs, -1)
        rows = iterate(self._vector.observation_space, observed)
        return torch.stack([self._row(row) for row in rows])

    def last(self, observed: Any, index: int) -> Tensor:
        return self._row(observed)

    def after(self, observed: Any, begun: npt.NDArray[np.bool_]) -> Tensor:
        return self.begin(observed)

    def _row(self, observed: Any) -> Tensor:
        """What one environment shows, float32 `[size]`."""
        return _floats(spaces.flatten(self._parts.space, self._parts.pick(observed)))


class ShowingImages(Showing):
    """Bytes `[N, C, H, W]`: the last frames of each environment's episode, the newest last.

    The first frame of an episode also stands for those before it.
    """

    dtype = torch.uint8

    def __init__(self, parts: Parts, view: ImageView, num_envs: int) -> None:
        self.shape = view.observation_shape
        self._parts = parts
        self._view = view
        self._frames = torch.zeros(num_envs, view.frame_stack, *view.frame_shape, dtype=torch.uint8)
        """The last frames `[N, frame_stack, C, H, W]` of every environment."""

    def _newest(self, observed: Any) -> Tensor:
        """The frames `[..., C, H, W]` of one environment or of all."""
        return self._view.frames(_bytes(self._parts.pick(observed)))

    def begin(self, observed: Any) -> Tensor:
        return self.after(observed, np.ones(len(self._frames), dtype=np.bool_))

    def last(self, observed: Any, index: int) -> Tensor:
        before = self._frames[index, 1:]
        return torch.cat([before, self._newest(observed)[None]]).flatten(0, 1)

    def after(self, observed: Any, begun: npt.NDArray[np.bool_]) -> Tensor:
        newest = self._newest(observed)[:, None]
        frames = torch.cat([self._frames[:, 1:], newest], 1)
        first = torch.from_numpy(begun)
        frames[first] = newest[first].expand_as(frames[first])
        self._frames = frames
        return frames.flatten(1, 2)

    def state_dict(self) -> State:
        return {"frames": self._frames}

    def load_state_dict(self, state: State) -> None:
        self._frames = state["frames"].cpu()


def _floats(values: Any) -> Tensor:
    # A copy in any case: the vector environment writes over its arrays. What is too large is infinite
    # from here on, and ends the run: no need to warn of it.
    with np.errstate(over="ignore"):
        return torch.from_numpy(np.array(values, dtype=np.float32))


def _bytes(values: Any) -> Tensor:
    return torch.from_numpy(np.array(values, dtype=np.uint8))
