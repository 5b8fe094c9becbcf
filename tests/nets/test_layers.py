"""Activations, initialisation, moments and noisy layers."""

import pytest
import torch
from torch import nn

from rle.core.running_mean_std import RunningMeanStd
from rle.nets.layers import MLP, Head, _linear, tanh
from rle.nets.noisy import NoisyLinear


def test_tanh_is_tanh() -> None:
    x = torch.linspace(-12, 12, 2001)
    torch.testing.assert_close(tanh(x), torch.tanh(x), atol=3e-7, rtol=0)
    mine, theirs = x.clone().requires_grad_(), x.clone().requires_grad_()
    tanh(mine).sum().backward()
    torch.tanh(theirs).sum().backward()
    torch.testing.assert_close(mine.grad, theirs.grad, atol=1e-6, rtol=0)


def test_weights_are_orthogonal_with_zero_biases() -> None:
    net = MLP(64, (64,), "tanh", torch.Generator().manual_seed(0))
    weight = net.layers[0].weight
    torch.testing.assert_close(weight @ weight.T, 2 * torch.eye(64), atol=1e-5, rtol=1e-5)
    assert bool((net.layers[0].bias == 0).all())


def test_same_generator_seed_same_weights() -> None:
    first, second = (Head(3, (8,), 2, "relu", torch.Generator().manual_seed(5)) for _ in range(2))
    for a, b in zip(first.parameters(), second.parameters(), strict=True):
        assert bool((a == b).all())


def test_running_moments_equal_the_whole_batch() -> None:
    data = torch.randn(1000, 3, generator=torch.Generator().manual_seed(0)) * 5 + 100
    moments, other = RunningMeanStd((3,)), RunningMeanStd((3,))
    moments.update(data[:10])
    moments.update(data[10:400])
    other.update(data[400:])
    moments.merge(other)
    torch.testing.assert_close(moments.mean, data.double().mean(0))
    torch.testing.assert_close(moments.std, data.double().std(0, correction=0))


def test_running_moments_of_large_numbers_stay_exact() -> None:
    # In float32 the variance of 1e6 + {0, 1} drowns in rounding.
    moments = RunningMeanStd(())
    for _ in range(100):
        moments.update(torch.tensor([1e6, 1e6 + 1]))
    assert float(moments.std) == pytest.approx(0.5)


def test_noisy_output_variance_is_the_closed_form() -> None:
    """Var y = Σ_i σ_i² x_i² + σ_b² over independent noise."""
    layer = NoisyLinear(3, 1, initial_std=0.017)
    with torch.no_grad():
        layer.weight_std.copy_(torch.tensor([[0.1, 0.2, 0.3]]))
        layer.bias_std.fill_(0.4)
        x = torch.tensor([1.0, -2.0, 3.0])
        source = torch.Generator().manual_seed(0)
        outputs = []
        for _ in range(20_000):
            layer.resample(source)
            outputs.append(layer(x))
    # 0.01 * 1 + 0.04 * 4 + 0.09 * 9 + 0.16 = 1.14; relative standard error sqrt(2 / 20000) = 1 %.
    assert float(torch.cat(outputs).var()) == pytest.approx(1.14, rel=0.05)


def test_noisy_layers_share_no_noise_between_weights() -> None:
    """Independent noise has full rank; factorised noise would have rank one."""
    layer = NoisyLinear(8, 8, 0.017)
    layer.resample(torch.Generator().manual_seed(0))
    assert int(torch.linalg.matrix_rank(layer.weight_noise)) == 8


def test_silenced_layer_is_the_plain_one() -> None:
    layer = NoisyLinear(4, 2, 0.5)
    layer.resample(torch.Generator().manual_seed(0))
    layer.silence()
    x = torch.randn(3, 4)
    torch.testing.assert_close(layer(x), torch.nn.functional.linear(x, layer.weight, layer.bias))


def test_a_noise_sample_for_each_row() -> None:
    layer = NoisyLinear(4, 2, 0.5)
    x = torch.randn(3, 4, generator=torch.Generator().manual_seed(0))
    samples, expected = [], []
    for row in range(3):
        layer.resample(torch.Generator().manual_seed(row))
        samples.append((layer.weight_noise.clone(), layer.bias_noise.clone()))
        expected.append(layer(x[row]))
    layer.weight_noise = torch.stack([weight for weight, _ in samples])
    layer.bias_noise = torch.stack([bias for _, bias in samples])
    torch.testing.assert_close(layer(x), torch.stack(expected))


def test_a_narrow_layers_gradient_is_that_of_any_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compiled, the weights' gradient of few inputs is the transposed product."""
    layer = nn.Linear(3, 8)
    x = torch.randn(5, 3, requires_grad=True)
    weighed = torch.randn(5, 8)

    def gradients() -> list[torch.Tensor]:
        loss = (_linear(x, layer) * weighed).sum()
        return list(torch.autograd.grad(loss, [x, layer.weight, layer.bias]))

    usual = gradients()
    monkeypatch.setattr(torch.compiler, "is_compiling", lambda: True)
    assert type(_linear(x, layer).grad_fn).__name__ == "_NarrowLinearBackward"
    for one, other in zip(gradients(), usual, strict=True):
        torch.testing.assert_close(one, other)
