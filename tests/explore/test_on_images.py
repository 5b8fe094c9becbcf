"""What strategies see of images: layer by layer, written out."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from rle.explore.base import Strategy
from rle.explore.registry import make_strategy
from rle.presets import preset_config
from rle.settings import replace
from rle.tasks.base import Discrete, TaskSpec
from tests.builders import into

# Four frames of two channels each, as small as the convolutions allow.
SPEC = TaskSpec(2, (8, 36, 36), torch.uint8, Discrete(3), stacked_frames=4)
IMAGES = torch.randint(
    0, 256, (3, 8, 36, 36), dtype=torch.uint8, generator=torch.Generator().manual_seed(0)
)


def strategy_on_images(explore: str, **settings: object) -> Strategy:
    config = replace(preset_config("atari/Pong", explore), {"precision": "float32"})
    config = replace(config, {name.replace("__", "."): value for name, value in settings.items()})
    return make_strategy(config, SPEC, torch.device("cpu"))


def described(body, pixels: Tensor, activation: Callable[[Tensor], Tensor]) -> Tensor:
    """Three convolutions with `activation`, then dense layers with ReLU."""
    for layer in body.convolutions:
        pixels = activation(layer(pixels))
    hidden = pixels.flatten(1)
    for layer in body.dense:
        hidden = functional.relu(layer(hidden))
    return hidden


@pytest.mark.parametrize("raw", [False, True])
@torch.no_grad()
def test_features_of_scaled_or_raw_pixels(raw: bool) -> None:
    strategy = strategy_on_images("rle", rle__feature_raw_pixels=raw, embedding=(24,))
    features = strategy.features
    pixels = IMAGES.float() * (1.0 if raw else 1 / 255)
    expected = features.projection(described(features.body, pixels, functional.relu))
    assert expected.shape == (3, strategy.config.dimension)
    torch.testing.assert_close(features(IMAGES), expected, rtol=1e-4, atol=1e-4)


@torch.no_grad()
def test_rnd_compares_whitened_newest_frames() -> None:
    """Leaky convolutions, and neither network sees the older frames or a scale."""
    sizes = {"rnd__predictor_hidden": (20, 16), "rnd__target_hidden": (12,), "rnd__outputs": 5}
    strategy = strategy_on_images("rnd", **sizes)
    strategy.warm_up(0, into(IMAGES))
    newest = IMAGES[:, 6:].double()
    mean, std = newest.mean(0).float(), newest.std(0, correction=0).float()
    whitened = ((newest.float() - mean) / (std + 1e-8)).clip(-5, 5)
    answers = []
    for network, widths in ((strategy._predictor, [20, 16]), (strategy._target, [12])):
        body = network.body
        assert [layer.out_features for layer in body.dense] == widths
        answers.append(network.output(described(body, whitened, functional.leaky_relu)))
    prediction, target = answers
    assert prediction.shape == (3, 5)
    expected = (prediction - target).square().sum(-1) / 2
    found = strategy.bonus(into(IMAGES))
    torch.testing.assert_close(found[:, 0], expected, rtol=1e-3, atol=1e-3)
