"""Stacked frames that are kept once: the same observations as if each were kept whole."""

import pytest
import torch
from torch import Tensor

from rle.learn.frames import StackedFrames

ROWS, ENVS = 6, 3


def stacks(frames: int, channels: int, restarts: dict[int, list[int]], seed: int = 0) -> Tensor:
    """`[ROWS, ENVS, C, 5, 4]`: a frame more each row; where an episode begins, others altogether."""
    source = torch.Generator().manual_seed(seed)

    def new(*shape: int) -> Tensor:
        return torch.randint(256, (*shape, channels, 5, 4), dtype=torch.uint8, generator=source)

    rows = [new(ENVS, frames)]
    for row in range(1, ROWS):
        shown = torch.cat([rows[-1][:, 1:], new(ENVS, 1)], 1)
        for env in restarts.get(row, []):
            shown[env] = new(frames)
        rows.append(shown)
    return torch.stack(rows).flatten(2, 3)


def stored(observations: Tensor, frames: int) -> StackedFrames:
    kept = StackedFrames(ROWS, ENVS, tuple(observations.shape[2:]), frames, observations.dtype)
    for row, observation in enumerate(observations):
        kept.write(row, observation)
    return kept


@pytest.mark.parametrize(("frames", "channels"), [(4, 1), (2, 3)])
@pytest.mark.parametrize(
    "restarts",
    [{}, {3: [1]}, {1: [0], 2: [0, 2], 5: [1, 2]}, {row: [0, 1, 2] for row in range(1, 6)}],
)
def test_observations_come_back_as_they_were(
    frames: int, channels: int, restarts: dict[int, list[int]]
) -> None:
    observations = stacks(frames, channels, restarts)
    kept = stored(observations, frames)
    index = torch.tensor([17, 0, 5, 5, 9, 2])
    assert torch.equal(kept[index], observations.flatten(0, 1)[index])
    assert torch.equal(kept[torch.arange(ROWS * ENVS)], observations.flatten(0, 1))


def test_a_frame_is_kept_once() -> None:
    kept = stored(stacks(4, 1, {}), 4)
    # Four of each environment's first observation, then one a row.
    assert kept._used == ENVS * (4 + ROWS - 1)
    # An episode that begins brings three more than going on would.
    assert stored(stacks(4, 1, {3: [1]}), 4)._used == ENVS * (4 + ROWS - 1) + 3


def test_the_next_rollout_writes_over_the_last() -> None:
    first, second = stacks(4, 1, {2: [0]}), stacks(4, 1, {4: [2]}, seed=1)
    kept = stored(first, 4)
    kept.begin()
    for row, observation in enumerate(second):
        kept.write(row, observation)
    assert torch.equal(kept[torch.arange(ROWS * ENVS)], second.flatten(0, 1))
