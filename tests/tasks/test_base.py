from __future__ import annotations

import math

import numpy as np
import torch

from rle.tasks.base import Continuous, Discrete, MultiDiscrete, playable, random_actions


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


def test_random_choices_are_uniform_and_independent() -> None:
    actions = random_actions(MultiDiscrete((2, 3)), 6000, torch.Generator().manual_seed(0))
    assert actions.shape == (6000, 2)
    assert actions.dtype == torch.int64
    counts = torch.bincount(3 * actions[:, 0] + actions[:, 1], minlength=6)
    # Each of the six pairs is binomial with mean 1000 and deviation 29.
    assert (counts - 1000).abs().max() < 145


def test_discrete_actions_as_environments_take_them() -> None:
    action = torch.tensor([0, 2])
    assert playable(Discrete(3), action).tolist() == [0, 2]
    shifted = playable(Discrete(3, -1, "int32"), action)
    assert shifted.tolist() == [-1, 1]
    assert shifted.dtype == np.int32


def test_several_choices_as_environments_take_them() -> None:
    action = torch.tensor([[1, 0, 2, 1], [0, 0, 0, 0]])
    plain = playable(MultiDiscrete((2, 2, 3, 2)), action)
    assert plain.tolist() == action.tolist()
    assert plain.dtype == np.int64
    # What an environment does to its action is not what the learner took.
    plain[:] = 9
    assert action.max() == 2
    table = playable(MultiDiscrete((2, 2, 3, 2), (0, 5, 0, -1), (2, 2), "int8"), action)
    assert table.tolist() == [[[1, 5], [2, 0]], [[0, 5], [0, -1]]]
    assert table.dtype == np.int8


def test_continuous_actions_as_environments_take_them() -> None:
    space = Continuous((-1.0, 0.0), (1.0, math.inf), (2, 1), "float64")
    found = playable(space, torch.tensor([[2.0, -3.0], [math.nan, 7.0]]))
    assert found.tolist() == [[[1.0], [0.0]], [[0.0], [7.0]]]
    assert found.dtype == np.float64
    # A number alone: an environment whose actions have no dimension.
    assert playable(Continuous((-1.0,), (1.0,), ()), torch.tensor([[0.5], [4.0]])).tolist() == [
        0.5,
        1,
    ]
