"""A step of Adam by `adam.cpp`."""

from __future__ import annotations

import torch
from torch import Tensor

from rle.learn.adam import BETAS
from rle.learn.fused.library import library


def fused_adam_step(
    flat: Tensor,
    gradient: Tensor,
    first: Tensor,
    second: Tensor,
    rates: Tensor,
    epsilon: float,
    max_norm: float,
) -> Tensor:
    """What `rle.learn.adam.clipped_adam_step` does."""
    built = library()
    assert built is not None
    vectors = (flat, gradient, first, second)
    places = [vector.data_ptr() for vector in vectors]
    norm = built.clipped_adam_step(*places, len(flat), *rates.tolist(), epsilon, max_norm, *BETAS)
    return torch.tensor(norm)
