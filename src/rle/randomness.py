"""One seed, many independent random streams: one per purpose, so that none disturbs another.

All random numbers are drawn on the CPU and moved, which makes a seed mean the same on every device.
"""

from __future__ import annotations

import hashlib

import torch
from torch import Tensor


def derive_seed(seed: int, purpose: str) -> int:
    """A 63-bit seed for `purpose`, a fixed function of `seed`."""
    digest = hashlib.sha256(f"{seed}/{purpose}".encode()).digest()
    return int.from_bytes(digest[:8], "little") >> 1


def generator(seed: int, purpose: str) -> torch.Generator:
    """A fresh CPU generator for `purpose`."""
    return torch.Generator().manual_seed(derive_seed(seed, purpose))


def generator_state(source: torch.Generator) -> Tensor:
    """The generator's state, for a checkpoint."""
    return source.get_state()


def restore_generator(state: Tensor) -> torch.Generator:
    """A generator that goes on from `state`."""
    restored = torch.Generator()
    restored.set_state(state.cpu())
    return restored
