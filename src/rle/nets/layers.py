"""Building blocks: activations and the MLP."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from rle.config import Activation
from rle.core.features import initialise
from rle.nets.ones import sum_of_columns

LinearFactory = Callable[[int, int], nn.Linear]
"""Makes a linear layer of (inputs, outputs); a strategy may give noisy ones."""


def _sigmoid_tanh(x: Tensor) -> Tensor:
    return torch.sigmoid(2 * x).mul_(2).sub_(1)


class _Tanh(torch.autograd.Function):
    """tanh with the cheap forward pass and the usual backward pass, 1 - tanh²."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        y = _sigmoid_tanh(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        (y,) = ctx.saved_tensors
        return torch.ops.aten.tanh_backward(gradient, y)


class _RationalTanh(torch.autograd.Function):
    """tanh as a rational function, for compiled code, where twenty multiplications cost nothing.

    The coefficients are the minimax approximation that Eigen and XLA use, good to 4e-7.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        x = x.clamp(-7.90531110763549805, 7.90531110763549805)
        square = x * x
        numerator, denominator = (
            torch.full_like(x, _NUMERATOR[0]),
            torch.full_like(x, _DENOMINATOR[0]),
        )
        for coefficient in _NUMERATOR[1:]:
            numerator = numerator * square + coefficient
        for coefficient in _DENOMINATOR[1:]:
            denominator = denominator * square + coefficient
        y = x * numerator / denominator
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        (y,) = ctx.saved_tensors
        return gradient * (1 - y * y)


_NUMERATOR = (
    -2.76076847742355e-16,
    2.00018790482477e-13,
    -8.60467152213735e-11,
    5.12229709037114e-08,
    1.48572235717979e-05,
    6.37261928875436e-04,
    4.89352455891786e-03,
)
_DENOMINATOR = (
    1.19825839466702e-06,
    1.18534705686654e-04,
    2.26843463243900e-03,
    4.89352518554385e-03,
)


def tanh(x: Tensor) -> Tensor:
    """Hyperbolic tangent as 2 σ(2x) - 1: three times faster than `torch.tanh` on a CPU.

    The absolute error is that of float32 rounding, below 2e-7.
    """
    if torch.compiler.is_compiling():
        return _RationalTanh.apply(x)
    if torch.is_grad_enabled() and x.requires_grad:
        return _Tanh.apply(x)
    return _sigmoid_tanh(x)


class _NarrowLinear(torch.autograd.Function):
    """A linear layer of few inputs whose weights' gradient is computed as (xᵀ dy)ᵀ.

    It is the same product. As dyᵀ x, with its few columns, it takes five times as long on AMD's cores.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        ctx.save_for_backward(x, weight)
        return functional.linear(x, weight, bias)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, Tensor, Tensor]:
        x, weight = ctx.saved_tensors
        of_x = gradient @ weight if ctx.needs_input_grad[0] else None
        return of_x, (x.T @ gradient).T, gradient.sum(0)


def _linear(x: Tensor, layer: nn.Linear) -> Tensor:
    # functional.linear skips the module-call machinery, which costs as much as the product when 32
    # environments act.
    narrow = layer.in_features < layer.out_features and x.ndim == 2
    if narrow and torch.compiler.is_compiling() and torch.is_grad_enabled():
        return _NarrowLinear.apply(x, layer.weight, layer.bias)
    return functional.linear(x, layer.weight, layer.bias)


def _of_ones(places: Tensor, beside: Tensor | None, layers: Sequence[nn.Linear]) -> Tensor:
    """What `layers` make of ones at `places` and what stands `beside` them, `[..., outputs of all]`."""
    weight = torch.cat([layer.weight for layer in layers]) if len(layers) > 1 else layers[0].weight
    if beside is None:
        return sum_of_columns(places, weight)
    inputs = weight.shape[1] - beside.shape[-1]
    return sum_of_columns(places, weight[:, :inputs]) + functional.linear(
        beside, weight[:, inputs:]
    )


def join(values: Tensor, beside: Tensor | None) -> Tensor:
    """Both as one vector."""
    return values if beside is None else torch.cat([values, beside], -1)


def apply_heads(x: Tensor, layers: Sequence[nn.Module]) -> Tensor:
    """What all `layers` make of `x` `[..., inputs]`, beside each other: `[..., outputs of all]`.

    Compiled, they are one product, (W xᵀ)ᵀ: with few outputs that takes half the time, and what follows
    it, such as a softmax over the few, can go along the many.
    """
    plain = [layer for layer in layers if type(layer) is nn.Linear]
    if torch.compiler.is_compiling() and x.ndim == 2 and len(plain) == len(layers):
        weight = torch.cat([layer.weight for layer in plain])
        return (weight @ x.T).T + torch.cat([layer.bias for layer in plain])
    outputs = [layer(x) for layer in layers]
    return torch.cat(outputs, -1) if len(outputs) > 1 else outputs[0]


ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "tanh": tanh,
    "relu": functional.relu,
    "elu": functional.elu,
}

HIDDEN_GAIN = math.sqrt(2)


class MLP(nn.Module):
    """Linear layers with an activation after each; `[..., inputs] -> [..., sizes[-1]]`.

    Inputs that are a few ones among zeros may be given as where the ones are, see `rle.nets.ones`.
    """

    def __init__(
        self,
        inputs: int,
        sizes: Sequence[int],
        activation: Activation,
        generator: torch.Generator,
    ) -> None:
        super().__init__()
        widths = [inputs, *sizes]
        layers = [
            initialise(nn.Linear(before, after), HIDDEN_GAIN, generator)
            for before, after in itertools.pairwise(widths)
        ]
        self.layers = nn.ModuleList(layers)
        self.linears = layers
        self.width = widths[-1]
        self.activation = activation
        self._activate = ACTIVATIONS[activation]

    def forward(self, x: Tensor, beside: Tensor | None = None) -> Tensor:
        """Of `x` and what stands `beside` it: numbers `[..., part of the inputs]`."""
        if x.is_floating_point():
            x, layers = join(x, beside), self.linears
        else:
            first, *layers = self.linears
            x = self._activate(_of_ones(x, beside, [first]) + first.bias)
        for layer in layers:
            x = self._activate(_linear(x, layer))
        return x


class _PairOfProducts(torch.autograd.Function):
    """`[2, B, inputs]` times `[2, outputs, inputs]`: `[2, B, outputs]`.

    The weights' gradients come out in the weights' own layout, unless there are few inputs: see
    `_NarrowLinear`.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor) -> Tensor:
        ctx.save_for_backward(x, weight)
        return torch.bmm(x, weight.mT)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, Tensor]:
        x, weight = ctx.saved_tensors
        of_x = torch.bmm(gradient, weight) if ctx.needs_input_grad[0] else None
        if x.shape[-1] < gradient.shape[-1]:
            return of_x, torch.bmm(x.mT, gradient).mT
        return of_x, torch.bmm(gradient.mT, x)


def side_by_side(
    first: MLP, second: MLP, x: Tensor, beside: Tensor | None
) -> tuple[Tensor, Tensor]:
    """What two MLPs of one shape make of `x` and what stands `beside` it, each `[B, width]`.

    For compiled code: half as many kernels, and biases are added where the activation is computed
    instead of being copied to where a product then adds to them.
    """
    pairs = list(zip(first.linears, second.linears, strict=True))
    if x.is_floating_point():
        both = join(x, beside).expand(2, len(x), -1)
    else:
        pair = pairs.pop(0)
        together = _of_ones(x, beside, pair) + torch.cat([layer.bias for layer in pair])
        both = first._activate(together.unflatten(1, (2, -1)).transpose(0, 1))
    for pair in pairs:
        weight = torch.stack([layer.weight for layer in pair])
        bias = torch.stack([layer.bias for layer in pair])
        both = first._activate(_PairOfProducts.apply(both, weight) + bias[:, None])
    of_first, of_second = both.unbind(0)
    return of_first, of_second


class Head(MLP):
    """An MLP whose last layer is linear: `[..., inputs] -> [..., outputs]`."""

    def __init__(
        self,
        inputs: int,
        hidden: Sequence[int],
        outputs: int,
        activation: Activation,
        generator: torch.Generator,
    ) -> None:
        super().__init__(inputs, hidden, activation, generator)
        self.output = initialise(nn.Linear(self.width, outputs), math.sqrt(2), generator)

    def forward(self, x: Tensor, beside: Tensor | None = None) -> Tensor:
        return self.output(super().forward(x, beside))
