"""All parameters of a network as one vector."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn


def flatten_parameters(parameters: Sequence[nn.Parameter]) -> Tensor:
    """Move all parameters into one vector `[P]`, of which they become views.

    Clipping and Adam are then a handful of operations instead of a handful per layer.
    """
    flat = torch.cat([parameter.detach().reshape(-1) for parameter in parameters])
    offset = 0
    for parameter in parameters:
        size = parameter.numel()
        parameter.data = flat[offset : offset + size].view_as(parameter)
        offset += size
    return flat
