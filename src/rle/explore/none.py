"""No exploration beyond the policy's own randomness: with it, the training loop is PPO."""

from __future__ import annotations

import torch

from rle.config import RunConfig
from rle.explore.base import Strategy
from rle.tasks.base import TaskSpec


class NoExploration(Strategy):
    """Adds nothing."""

    splits = True


def build_none(
    config: RunConfig, settings: None, spec: TaskSpec, device: torch.device
) -> NoExploration:
    """Nothing to build."""
    return NoExploration()
