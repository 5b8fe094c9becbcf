"""A rollout as the update sees it: one transition beside the other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from torch import Tensor

from rle.learn.frames import StackedFrames


class Batch(NamedTuple):
    """A rollout, flattened to B = T · N transitions, with everything the loss needs."""

    observation: Tensor | StackedFrames
    """`[B, ...]`, with or without some more behind them."""
    latent: Tensor | None
    """What the networks see of it."""
    action: Tensor
    log_probability: Tensor
    values: Tensor
    """`[B, K]`."""
    advantage: Tensor
    returns: Tensor
    """`[B, K]`."""
    mask: Tensor | None

    def select(self, index: Tensor) -> Batch:
        """The transitions that `index` names."""
        return Batch(*(None if part is None else part[index] for part in self))  # type: ignore[arg-type]


class Everyone(NamedTuple):
    """What must be known of the transitions of all ranks to know a minibatch; alone, of this one's."""

    advantage: Tensor
    """`[B]`."""
    mask: Tensor | None
    """bool `[B]`, which of them are real; None: all are."""


def pieces(index: Tensor, size: int | None) -> Sequence[Tensor]:
    """`index` in pieces that fit the cache, if micro-batches of a `size` are asked for."""
    return (index,) if size is None else index.split(size)
