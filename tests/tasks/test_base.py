from __future__ import annotations

import math

import torch

from rle.tasks.base import Continuous, Discrete, random_actions


def test_random_discrete_actions_are_uniform() -> None:
    source = torch.Generator().manual_seed(0)
    actions = random_actions(Discrete(3), 3000, source)
    assert actions.shape == (3000,)
    assert actions.dtype == torch.int64
    counts = torch.bincount(actions)
    assert len(counts) == 3
    # Each count is binomial with mean 1000 and deviation 26.
    assert (counts - 1000).abs().max() < 130


def test_random_continuous_actions_fill_their_bounds() -> None:
    space = Continuous((-2.0, 0.0, -math.inf), (2.0, 0.5, math.inf))
    actions = random_actions(space, 4000, torch.Generator().manual_seed(0))
    assert actions.shape == (4000, 3)
    assert actions.dtype == torch.float32
    low, high = actions.amin(0), actions.amax(0)
    assert -2 <= low[0] < -1.9 < 1.9 < high[0] <= 2
    assert 0 <= low[1] < 0.05 < 0.45 < high[1] <= 0.5
    assert abs(actions[:, 2].mean()) < 0.1
    assert abs(actions[:, 2].std() - 1) < 0.1
