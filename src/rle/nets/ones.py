"""Observations that are a few ones among many zeros, as where the ones are.

Numbered states, and MiniGrid's view with its one for every object, colour and state, are such. What a
linear layer makes of them is the sum of some of its weights' columns: there is nothing to multiply.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from rle.checks import require

WORTHWHILE_ZEROS = 4
"""Zeros to every one from which on adding up is faster than multiplying."""


def worthwhile(inputs: int, ones: int, device: torch.device) -> bool:
    """Whether `inputs` numbers with so many `ones` had better be places; graphics cards multiply."""
    return device.type == "cpu" and inputs > WORTHWHILE_ZEROS * ones


def places_of_ones(observation: Tensor, ones: int) -> Tensor:
    """Where the ones of `[..., I]` are, in order: int32 `[..., ones]`."""
    *leading, inputs = observation.shape
    flat = observation.flatten()
    if flat.device.type == "cpu":
        # NumPy looks for them several times as fast, and as fast again among truths.
        found = torch.from_numpy(flat.numpy().astype(bool).nonzero()[0])
    else:
        found = flat.nonzero()[:, 0]
    rows = torch.arange(len(flat) // inputs, device=flat.device)[:, None]
    right = len(found) == len(rows) * ones and flat.sum() == len(found)
    places = found.view(-1, ones) - rows * inputs if right else found
    # As many as there should be in all might still be too many in one and too few in another.
    require(
        bool(right and (places[:, 0] >= 0).all() and (places[:, -1] < inputs).all()),
        f"the task says that its observations are {ones} ones among zeros, and they are not: leave "
        "`ones` out of its TaskSpec.",
    )
    return places.int().view(*leading, ones)


class _SumOfColumns(torch.autograd.Function):
    """`[B, n]` places of ones times `[outputs, I]`: `[B, outputs]`.

    The weights' gradient is, for every input, the sum of the rows of dy in which it is one: a sum of the
    same kind, once the places are in order.
    """

    @staticmethod
    def forward(ctx: Any, places: Tensor, weight: Tensor) -> Tensor:
        ctx.save_for_backward(places)
        ctx.inputs = weight.shape[1]
        return functional.embedding_bag(places, weight.T.contiguous(), mode="sum")

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[None, Tensor]:
        (places,) = ctx.saved_tensors
        # Numbers of 16 bits are put in order without being compared.
        kind = torch.int16 if ctx.inputs <= torch.iinfo(torch.int16).max else torch.int32
        inputs = torch.arange(ctx.inputs, dtype=kind, device=places.device)
        ordered, order = places.flatten().to(kind).sort(stable=True)
        begins = torch.searchsorted(ordered, inputs, out_int32=True)
        rows = (order // places.shape[1]).int()
        summed = functional.embedding_bag(rows, gradient.contiguous(), begins, mode="sum")
        return None, summed.T


def sum_of_columns(places: Tensor, weight: Tensor) -> Tensor:
    """What `functional.linear(x, weight)` is for the x whose ones are at `places` `[..., n]`."""
    summed: Tensor = _SumOfColumns.apply(places.flatten(0, -2), weight)
    return summed.unflatten(0, places.shape[:-1])
