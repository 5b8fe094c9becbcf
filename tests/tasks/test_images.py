"""Images on their way to the networks, pixel by pixel."""

from __future__ import annotations

import gymnasium
import numpy as np
import pytest
import torch
from gymnasium import spaces

from rle.tasks.images import ImageView
from tests.probes.gymnasium_environments import Showing

PICTURE = torch.arange(24, dtype=torch.uint8).reshape(2, 4, 3)


def test_channels_come_first() -> None:
    expected = [[[0, 3, 6, 9], [12, 15, 18, 21]]]  # red
    last = ImageView((2, 4, 3))
    assert last.observation_shape == (3, 2, 4)
    assert last.frames(PICTURE)[:1].tolist() == expected
    first = ImageView((3, 2, 4), channels_last=False)
    assert first.observation_shape == (3, 2, 4)
    assert torch.equal(first.frames(PICTURE.movedim(-1, 0)), last.frames(PICTURE))
    flat = ImageView((2, 4))
    assert flat.observation_shape == (1, 2, 4)
    assert flat.frames(PICTURE[..., 0]).tolist() == expected


def test_grey_is_gymnasiums() -> None:
    """0.2125 · 200 + 0.7154 · 100 + 0.0721 · 50 = 117.645. Gymnasium's own cuts it off, ours rounds."""
    picture = np.random.default_rng(0).integers(0, 256, (5, 7, 3), dtype=np.uint8)
    picture[0, 0] = 200, 100, 50
    environment = Showing(spaces.Box(0, 255, (5, 7, 3), np.uint8), picture)
    theirs, _ = gymnasium.wrappers.GrayscaleObservation(environment).reset()
    view = ImageView((5, 7, 3), grayscale=True)
    ours = view.frames(torch.from_numpy(picture))
    assert view.observation_shape == ours.shape == (1, 5, 7)
    assert ours[0, 0, 0] == 118
    difference = ours[0].numpy().astype(int) - theirs
    assert set(difference.flatten()) == {0, 1}


@pytest.mark.parametrize(
    ("resize", "expected"),
    [
        # Means of 2 x 2; of 1 x 2; of a pixel and a third: (0 + 20 / 3) / (4 / 3); every row twice.
        ((1, 2), [[30, 70]]),
        ((2, 2), [[10, 50], [50, 90]]),
        ((2, 3), [[5, 30, 55], [45, 70, 95]]),
        ((4, 4), [[0, 20, 40, 60], [0, 20, 40, 60], [40, 60, 80, 100], [40, 60, 80, 100]]),
        ((2, 4), [[0, 20, 40, 60], [40, 60, 80, 100]]),
    ],
)
def test_sizes_are_means_over_areas(resize: tuple[int, int], expected: list[list[int]]) -> None:
    picture = torch.tensor([[0, 20, 40, 60], [40, 60, 80, 100]], dtype=torch.uint8)
    view = ImageView((2, 4), resize=resize)
    assert view.frames(picture).tolist() == [expected]
    assert view.frames(torch.full((2, 4), 255, dtype=torch.uint8)).min() == 255


def test_last_images_are_stacked_along_the_channels() -> None:
    view = ImageView((2, 4, 3), frame_stack=2)
    assert view.given_shape == (2, 2, 4, 3)
    given = torch.stack([PICTURE, PICTURE + 100])[None]
    seen = view.observations(given)
    assert seen.shape == (1, *view.observation_shape) == (1, 6, 2, 4)
    assert seen[0, :, 0, 0].tolist() == [0, 1, 2, 100, 101, 102]
