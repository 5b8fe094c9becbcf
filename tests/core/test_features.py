"""φ: what it follows, what stays, and the frozen random network that fits."""

import pytest
import torch
from torch import nn

from rle.core import FeatureNetwork, follow, random_features


def source() -> torch.Generator:
    return torch.Generator().manual_seed(0)


def test_backbone_follows_and_the_projection_stays() -> None:
    features = FeatureNetwork(nn.Sequential(nn.Linear(2, 4), nn.Tanh()), 4, 3, source())
    value = nn.Sequential(nn.Linear(2 + 3, 4), nn.Tanh())
    before = features.body[0].weight.clone()
    projection = features.projection.weight.clone()
    features.follow(value, 0.25)
    expected = 0.75 * before + 0.25 * value[0].weight[:, :2]
    torch.testing.assert_close(features.body[0].weight, expected)
    torch.testing.assert_close(features.projection.weight, projection)


def test_a_shallower_one_follows_the_first_layers() -> None:
    follower = nn.Sequential(nn.Linear(2, 4))
    leader = nn.Sequential(nn.Linear(5, 4), nn.Linear(4, 6))
    follow(follower, leader, 1.0)
    assert torch.equal(follower[0].weight, leader[0].weight[:, :2])
    assert torch.equal(follower[0].bias, leader[0].bias)
    assert not torch.equal(leader[1].bias, torch.zeros(6))


@pytest.mark.parametrize("shape", [(7,), (4, 84, 84), (3, 7, 7), (5, 9)])
def test_random_features_fit_what_is_observed(shape: tuple[int, ...]) -> None:
    features = random_features(shape, 6, source())
    observation = torch.randn(2, 3, *shape, generator=source())
    found = features(observation)
    assert found.shape == (2, 3, 6)
    # One observation alone is described as among others.
    torch.testing.assert_close(features(observation[1, 2]), found[1, 2])
    assert float(found.std(correction=0)) > 0.01
    assert not any(parameter.requires_grad for parameter in features.parameters())


def test_random_features_convolve_only_images_that_are_large_enough() -> None:
    def convolutions(shape: tuple[int, ...]) -> int:
        modules = random_features(shape, 2, source()).modules()
        return sum(isinstance(module, nn.Conv2d) for module in modules)

    assert convolutions((1, 36, 40)) == 3
    assert convolutions((1, 35, 40)) == 0


def test_random_features_take_bytes_for_fractions() -> None:
    features = random_features((3,), 2, source())
    pixels = torch.tensor([0, 51, 255], dtype=torch.uint8)
    torch.testing.assert_close(features(pixels), features(torch.tensor([0.0, 0.2, 1.0])))


def test_random_features_come_from_the_generator_alone() -> None:
    first, second = random_features((3,), 2, source()), random_features((3,), 2, source())
    other = random_features((3,), 2, torch.Generator().manual_seed(1))
    point = torch.tensor([0.3, -1.0, 0.5])
    assert torch.equal(first(point), second(point))
    assert not torch.equal(first(point), other(point))


def test_clipped_observations_look_like_those_at_the_bounds() -> None:
    body = nn.Sequential(nn.Linear(2, 4), nn.Tanh())
    clipped = FeatureNetwork(body, 4, 3, source(), clip=1.5)
    whole = FeatureNetwork(body, 4, 3, source())
    inside = torch.tensor([[1.4, -1.5]])
    assert torch.equal(clipped(inside), whole(inside))
    assert torch.equal(clipped(torch.tensor([[9.0, -2.0]])), whole(torch.tensor([[1.5, -1.5]])))
