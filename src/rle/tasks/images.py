"""Images: from what an environment shows to what the networks see, bytes with channels first."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

GREY = (0.2125, 0.7154, 0.0721)
"""How much of red, green and blue is in grey, as in Gymnasium's `GrayscaleObservation`."""


@dataclass(frozen=True)
class ImageView:
    """How an environment's images are made into frames, and frames into an observation.

    A frame is bytes `[C, H, W]`; an observation is the last `frame_stack` of them, along the channels,
    the newest last.
    """

    shape: tuple[int, ...]
    """Of one image as the environment shows it: `[H, W, C]`, `[C, H, W]` or `[H, W]`."""
    channels_last: bool = True
    """Which of the first two, if it has three dimensions."""
    grayscale: bool = False
    resize: tuple[int, int] | None = None
    """Rows and columns of a frame; None: the image's."""
    frame_stack: int = 1

    @property
    def channels(self) -> int:
        """Of one image as the environment shows it."""
        if len(self.shape) == 2:
            return 1
        return self.shape[-1] if self.channels_last else self.shape[0]

    @property
    def size(self) -> tuple[int, int]:
        """Rows and columns of one image as the environment shows it."""
        if len(self.shape) == 3 and not self.channels_last:
            return self.shape[1], self.shape[2]
        return self.shape[0], self.shape[1]

    @property
    def frame_shape(self) -> tuple[int, int, int]:
        """`(C, H, W)` of a frame."""
        return (1 if self.grayscale else self.channels, *(self.resize or self.size))

    @property
    def observation_shape(self) -> tuple[int, int, int]:
        """`(frame_stack * C, H, W)` of an observation."""
        channels, rows, columns = self.frame_shape
        return self.frame_stack * channels, rows, columns

    @property
    def given_shape(self) -> tuple[int, ...]:
        """What stands for an observation outside of the task: an image, or the last images."""
        return self.shape if self.frame_stack == 1 else (self.frame_stack, *self.shape)

    def frames(self, images: Tensor) -> Tensor:
        """Images `[..., *shape]` as frames `[..., C, H, W]`, all bytes."""
        if len(self.shape) == 2:
            images = images.unsqueeze(-3)
        elif self.channels_last:
            images = images.movedim(-1, -3)
        resize = None if self.resize == self.size else self.resize
        if not self.grayscale and resize is None:
            return images
        numbers = images.float()
        if self.grayscale:
            shares = torch.tensor(GREY, device=images.device)
            numbers = (numbers * shares[:, None, None]).sum(-3, keepdim=True)
        if resize is not None:
            rows, columns = (
                torch.from_numpy(area_weights(old, new)).to(numbers)
                for old, new in zip(self.size, resize, strict=True)
            )
            numbers = rows @ numbers @ columns.T
        # Rounded once: grey first, and then the size.
        return numbers.round().to(torch.uint8)

    def observations(self, given: Tensor) -> Tensor:
        """Observations `[N, *observation_shape]` of `[N, *given_shape]`."""
        frames = self.frames(given.to(torch.uint8))
        return frames if self.frame_stack == 1 else frames.flatten(1, 2)


def area_weights(size: int, smaller: int) -> npt.NDArray[np.float64]:
    """`[smaller, size]`: the share of each old pixel in each new one."""
    edges = np.arange(smaller + 1) * size / smaller
    pixels = np.arange(size)
    overlap = np.minimum(edges[1:, None], pixels + 1) - np.maximum(edges[:-1, None], pixels)
    weights: npt.NDArray[np.float64] = overlap.clip(min=0) * smaller / size
    return weights
