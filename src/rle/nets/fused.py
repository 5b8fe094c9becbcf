"""MLPs in C++ of our own, where nothing is learned from what they make."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from rle.native.library import library

ACTIVATIONS = ("tanh", "relu", "elu")
"""In the order of the enumeration in `mlp.h`."""


def available(device: torch.device) -> bool:
    """Whether the C++ is for this device and can be built here."""
    # One core computes it; several share a large product better.
    return device.type == "cpu" and torch.get_num_threads() == 1 and library() is not None


def fused_mlp(x: Tensor, layers: Sequence[Sequence[nn.Linear]], activation: str) -> Tensor:
    """What the layers make of `x` `[..., inputs]`; those that are given together see the same.

    The library must have been loaded (`available`), and no gradient is known.
    """
    flat = [layer for together in layers for layer in together]
    # Within a compiled graph, all calls share what is made here.
    weights = [
        torch.cat([part(layer).reshape(-1) for layer in together])
        for together in layers
        for part in (_weight, _bias)
    ]
    widths = [flat[0].in_features, *(sum(layer.out_features for layer in them) for them in layers)]
    kind = ACTIVATIONS.index(activation)
    rows = x.reshape(-1, x.shape[-1]).contiguous()
    made: Tensor = torch.ops.rle.mlp(rows, torch.cat(weights), widths, kind)
    return made.unflatten(0, x.shape[:-1]) if x.ndim != 2 else made


def _weight(layer: nn.Linear) -> Tensor:
    return layer.weight


def _bias(layer: nn.Linear) -> Tensor:
    return layer.bias
