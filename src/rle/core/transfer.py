"""From the host to where a run computes, without letting the host wait."""

from __future__ import annotations

import torch
from torch import Tensor

PINNING = {"cuda"}
"""Kinds of devices that copy by themselves what lies in pinned memory."""


def moved(values: Tensor, device: torch.device) -> Tensor:
    """`values` on `device`.

    A GPU copies ordinary memory only while the host waits, and a rollout has many small copies. What is
    put into pinned memory first is copied while the host goes on. Whoever made `values` may write over
    them at once; and PyTorch gives a piece of pinned memory to nobody else before all copies out of it
    are over, so that it need not be watched here.
    """
    if device.type in PINNING and values.device.type == "cpu":
        return values.pin_memory().to(device, non_blocking=True)
    return values.to(device)
