"""Networks for images, against the paper's shapes and arithmetic done another way."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from rle.config import NetworkConfig, Precision
from rle.nets.build import make_actor_critic
from rle.nets.images import UNIT_SCALE, ImageActorCritic, ImageBody, convolutions_for
from rle.nets.precision import RoundedProducts, resolved
from rle.tasks.base import Continuous, Discrete, MultiDiscrete, TaskSpec

CPU = torch.device("cpu")


def spec(actions: int = 18) -> TaskSpec:
    return TaskSpec(2, (4, 84, 84), torch.uint8, Discrete(actions), stacked_frames=4)


def source() -> torch.Generator:
    return torch.Generator().manual_seed(0)


def images(count: int = 3) -> Tensor:
    return torch.randint(0, 256, (count, 4, 84, 84), dtype=torch.uint8, generator=source())


def agent(latent_inputs: int = 17, streams: int = 2) -> ImageActorCritic:
    network = make_actor_critic(spec(), NetworkConfig(), latent_inputs, streams, source())
    assert isinstance(network, ImageActorCritic)
    return network


def shapes(module: nn.Module) -> list[tuple[int, ...]]:
    return [tuple(p.shape) for p in module.parameters() if p.dim() > 1]


def test_shapes_are_the_papers() -> None:
    """CNN + MLP (256, 448, 448, 18) and (256, 448, 448, 1); z -> 448 -> 448."""
    network = agent()
    assert shapes(network.value_body) == [
        (32, 4, 8, 8),
        (64, 32, 4, 4),
        (64, 64, 3, 3),
        (256, 64 * 7 * 7),
        (448, 256),
    ]
    assert shapes(network.policy_hidden) == [(448, 448)]
    assert shapes(network.policy_head) == [(18, 448)]
    assert shapes(network.value_hidden) == [(448, 448)]
    assert shapes(network.value_heads) == [(1, 448), (1, 448)]
    assert network.latent_encoder is not None
    assert shapes(network.latent_encoder) == [(448, 17), (448, 448)]


def test_forward_is_the_written_formula() -> None:
    """The same network from PyTorch's own modules, on scaled numbers in the usual memory order."""
    network = agent()
    latent = torch.randn(3, 17, generator=source())
    body = network.value_body
    assert isinstance(body, ImageBody)
    x = images().float() / 255
    for layer, stride in zip(body.convolutions, (4, 2, 1), strict=True):
        x = functional.relu(functional.conv2d(x, layer.weight, layer.bias, stride))
    x = x.reshape(3, -1)
    for dense in body.dense:
        x = functional.relu(dense(x))
    assert network.latent_encoder is not None
    first, _, second, _ = network.latent_encoder
    x = x + functional.relu(second(functional.relu(first(latent))))
    logits = network.policy_head(functional.relu(network.policy_hidden(x)))
    deep = x + functional.relu(network.value_hidden(x))
    values = torch.cat([head(deep) for head in network.value_heads], -1)
    output, got = network(images(), latent)
    torch.testing.assert_close(output, logits, rtol=1e-4, atol=1e-6)
    torch.testing.assert_close(got, values, rtol=1e-4, atol=1e-6)


def test_acting_gives_the_values_too_and_leading_dimensions_stay() -> None:
    network = agent()
    latent = torch.randn(4, 17, generator=source())
    output, values = network.act(images(4).view(2, 2, 4, 84, 84), latent.view(2, 2, 17))
    assert values is not None
    torch.testing.assert_close(output.view(4, 18), network.policy(images(4), latent))
    torch.testing.assert_close(values.view(4, 2), network.value(images(4), latent))


def test_the_first_policy_is_nearly_uniform() -> None:
    network = agent(latent_inputs=0, streams=1)
    assert network.latent_encoder is None
    with torch.no_grad():
        probabilities = network.policy(images(), None).softmax(-1)
    assert float((probabilities - 1 / 18).abs().max()) < 0.001


def test_raw_pixels_are_the_same_network_on_numbers_255_times_as_large() -> None:
    scaled = ImageBody((4, 84, 84), (16,), source(), UNIT_SCALE)
    raw = ImageBody((4, 84, 84), (16,), source(), 1.0)
    # ReLU without biases is positively homogeneous.
    torch.testing.assert_close(raw(images()), 255 * scaled(images()), rtol=1e-4, atol=1e-3)


@torch.no_grad()
def test_bfloat16_is_close_to_float32() -> None:
    latent = torch.randn(3, 17, generator=source())
    exact = agent()
    half = make_actor_critic(spec(), NetworkConfig(), 17, 2, source(), precision="bfloat16")
    output, values = exact(images(), latent)
    half_output, half_values = half(images(), latent)
    assert half_output.dtype == half_values.dtype == torch.float32
    assert not torch.equal(output, half_output)
    # bfloat16 has 8 bits: each product is right to 0.4 %.
    scale = float(output.abs().max())
    assert float((output - half_output).abs().max()) < 0.05 * scale
    assert float((values - half_values).abs().max()) < 0.05 * float(values.abs().max())


def test_rounded_products_are_pytorchs_bfloat16() -> None:
    """Outputs and gradients against PyTorch's own emulation, which also adds up in float32."""
    network = agent()
    latent = torch.randn(3, 17, generator=source())

    def results() -> list[Tensor]:
        network.zero_grad()
        output, values = network(images(), latent)
        (output.sum() + values.sum()).backward()
        gradients = [p.grad.clone() for p in network.parameters() if p.grad is not None]
        return [output.detach(), values.detach(), *gradients]

    exact = results()
    with torch.autocast("cpu", torch.bfloat16):
        expected = results()
    with RoundedProducts():
        found = results()
    for ours, theirs, float32 in zip(found, expected, exact, strict=True):
        # Only the order of sums and of a few roundings differs: much less than bfloat16 itself does.
        error = float((ours.float() - theirs.float()).norm())
        assert error <= 0.1 * float((float32 - theirs.float()).norm())


def test_auto_takes_bfloat16_where_the_hardware_has_it(monkeypatch: pytest.MonkeyPatch) -> None:
    for native, expected in ((True, "bfloat16"), (False, "float32")):
        monkeypatch.setattr(
            "rle.nets.precision.bfloat16_is_native", lambda _, answer=native: answer
        )
        assert resolved("auto", CPU) == expected
    assert resolved("float32", CPU) == "float32"


@pytest.mark.parametrize("columns", [0, 50])
@pytest.mark.parametrize("rows", range(1, 40))
def test_some_convolutions_fit_every_image(rows: int, columns: int) -> None:
    """And from 36 on they are Atari's."""
    layers = convolutions_for(rows, columns or rows)
    sides = [rows, columns or rows]
    for _, kernel, stride in layers:
        sides = [(side - kernel) // stride + 1 for side in sides]
    assert min(sides) >= 1
    assert (layers == ((32, 8, 4), (64, 4, 2), (64, 3, 1))) == (rows >= 36)


def test_small_images_have_kernels_of_their_size() -> None:
    for side, kernels, flat in ((32, [4, 4, 3], 16), (16, [3, 3, 3], 16), (7, [2, 2, 2], 16)):
        body = ImageBody((3, side, side), (5,), source())
        assert [layer.kernel_size[0] for layer in body.convolutions] == kernels
        assert body.dense[0].in_features == 64 * flat
        seen = body(torch.full((2, 3, side, side), 255, dtype=torch.uint8))
        assert seen.shape == (2, 5)


CONTINUOUS = TaskSpec(2, (1, 36, 36), torch.uint8, Continuous((-1.0,) * 3, (1.0,) * 3))


def small_images(count: int = 4) -> Tensor:
    return torch.randint(0, 256, (count, 1, 36, 36), dtype=torch.uint8, generator=source())


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_continuous_actions_have_a_deviation_that_no_image_changes(precision: Precision) -> None:
    config = NetworkConfig(embedding=(8,), initial_action_std=0.5)
    network = make_actor_critic(CONTINUOUS, config, 0, 1, source(), precision=precision)
    assert isinstance(network, ImageActorCritic)
    assert shapes(network.policy_head) == [(3, 8)]
    output = network.policy(small_images(), None)
    assert output.shape == (4, 6)
    assert output.dtype == torch.float32
    # log 0.5, exactly: it is not rounded with the products.
    assert output[:, 3:].tolist() == [[pytest.approx(math.log(0.5), rel=1e-6)] * 3] * 4
    body = network.value_body(small_images())
    mean = network.policy_head(functional.relu(network.policy_hidden(body)))
    torch.testing.assert_close(output[:, :3], mean, rtol=0.05, atol=1e-6)
    # Learned: d/d(log deviation) of its sum over four images is 4.
    output[:, 3:].sum().backward()
    assert network.log_std is not None
    assert network.log_std.grad is not None
    assert network.log_std.grad.tolist() == [4.0] * 3


def test_discrete_actions_have_no_deviation() -> None:
    for space in (Discrete(5), MultiDiscrete((2, 3))):
        spec = TaskSpec(2, (1, 36, 36), torch.uint8, space)
        network = make_actor_critic(spec, NetworkConfig(embedding=(8,)), 0, 1, source())
        assert network.log_std is None
        assert not any("deviation" in name for name in network.state_dict())
        assert network.policy(small_images(), None).shape == (4, 5)
