"""Gradients and steps of Adam in C++ of our own, for agents that are two plain MLPs."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from rle.explore.base import Trained
from rle.learn.adam import BETAS
from rle.learn.batch import Batch, Everyone
from rle.learn.loss import LossWeights
from rle.learn.rollout import Rollout
from rle.native.library import library
from rle.nets.actor_critic import ActorCritic, PlainLayers
from rle.nets.distributions import ActionDistribution, Categorical, DiagonalGaussian
from rle.nets.fused import ACTIVATIONS

OTHER_TERMS = 4
"""Statistics of a loss besides those of the value heads."""

_POINTER = ctypes.c_void_p


class _Network(ctypes.Structure):
    _fields_ = (
        ("layers", ctypes.c_int32),
        ("widths", _POINTER),
        ("weight_at", _POINTER),
        ("bias_at", _POINTER),
    )


class _Inputs(ctypes.Structure):
    _fields_ = (
        *((name, ctypes.c_int32) for name in ("observed", "ones", "beside")),
        *((name, _POINTER) for name in ("observation", "places", "latent")),
    )


class _Minibatch(ctypes.Structure):
    """`Minibatch` of `minibatch.cpp`, field by field."""

    _fields_ = (
        *((name, _POINTER) for name in ("parameters", "gradient", "statistics")),
        *((name, _Network) for name in ("policy", "value")),
        ("inputs", _Inputs),
        *((name, ctypes.c_int32) for name in ("activation", "continuous", "normalise")),
        *((name, ctypes.c_int32) for name in ("clip_value", "heads", "action_size")),
        ("log_std_at", ctypes.c_int64),
        *((name, ctypes.c_float) for name in ("clip", "entropy")),
        *((name, _POINTER) for name in ("weights", "chosen", "moved", "log_probability")),
        *((name, _POINTER) for name in ("values", "advantage", "returns", "real", "index")),
        ("size", ctypes.c_int64),
    )


def fused_gradients(
    network: ActorCritic,
    distribution: ActionDistribution,
    weights: LossWeights,
    auxiliaries: tuple[Trained, ...],
    ones: int | None,
) -> FusedGradients | None:
    """Gradients in C++, if the network is computed there and the rest of the agent can be."""
    layers = network.plain_layers()
    known = type(distribution) in (Categorical, DiagonalGaussian)
    if not network.fused or layers is None or auxiliaries or not known:
        return None
    return FusedGradients(network, layers, distribution, weights, ones)


class FusedGradients:
    """Computes gradients of the agent's loss, as `rle.learn.gradients.Gradients` does."""

    def __init__(
        self,
        network: ActorCritic,
        layers: PlainLayers,
        distribution: ActionDistribution,
        weights: LossWeights,
        ones: int | None,
    ) -> None:
        self.parameters = tuple(network.parameters())
        self._size = sum(parameter.numel() for parameter in self.parameters)
        self._heads = len(weights.value)
        self._batch: Batch | None = None
        self._shown: list[Tensor | None] = []
        """The numbers of that batch, in one piece each."""
        self._kept: list[Any] = []
        """What the C++ program is told the places of: it must stay there."""
        begins: dict[Tensor, int] = {}
        at = 0
        for parameter in self.parameters:
            begins[parameter] = at
            at += parameter.numel()
        self._minibatch = _Minibatch(
            policy=self._network(layers.policy, begins),
            value=self._network(layers.value, begins),
            activation=ACTIVATIONS.index(layers.activation),
            continuous=isinstance(distribution, DiagonalGaussian),
            normalise=weights.normalise_advantages,
            clip_value=weights.clip_value_loss,
            inputs=_Inputs(ones=ones or 0),
            heads=self._heads,
            action_size=distribution.head_size,
            log_std_at=0 if network.log_std is None else begins[network.log_std],
            clip=weights.clip,
            entropy=weights.entropy,
            weights=self._place_of(np.array(weights.value, np.float32)),
        )
        self._inputs = layers.policy[0][0].in_features
        built = library()
        assert built is not None
        self._compute = built.minibatch_gradient

    def _network(
        self, layers: Sequence[Sequence[nn.Linear]], begins: dict[Tensor, int]
    ) -> _Network:
        """Where the layers' weights and biases are among the parameters, output by output."""
        widths = [layers[0][0].in_features]
        weight_at: list[int] = []
        bias_at: list[int] = []
        for side_by_side in layers:
            for layer in side_by_side:
                outputs = range(layer.out_features)
                first, bias = begins[layer.weight], begins[layer.bias]
                weight_at += [first + output * layer.in_features for output in outputs]
                bias_at += [bias + output for output in outputs]
            widths.append(sum(layer.out_features for layer in side_by_side))
        return _Network(
            len(layers),
            self._place_of(np.array(widths, np.int32)),
            self._place_of(np.array(weight_at, np.int64)),
            self._place_of(np.array(bias_at, np.int64)),
        )

    def _place_of(self, numbers: np.ndarray[Any, Any]) -> int:
        self._kept.append(numbers)
        return int(numbers.ctypes.data)

    def __call__(
        self, batch: Batch, everyone: Everyone, index: Tensor, real: Tensor, rollout: Rollout
    ) -> tuple[Tensor, Tensor]:
        """The loss's gradient `[P]` on the transitions `index` `[b]`, and its statistics."""
        if batch is not self._batch:
            self._look_at(batch)
        index = index.contiguous()
        gradient = torch.empty(self._size)
        statistics = torch.empty(self._heads + OTHER_TERMS)
        told = self._minibatch
        told.parameters = self._first_parameter()
        told.gradient, told.statistics = gradient.data_ptr(), statistics.data_ptr()
        told.index, told.size = index.data_ptr(), len(index)
        self._compute(ctypes.byref(told))
        return gradient, statistics

    def _look_at(self, batch: Batch) -> None:
        """Say where the numbers of a batch are, which stay there as long as it is the last one seen."""
        self._batch = batch
        beside = 0 if batch.latent is None else batch.latent.shape[1]
        told, seen = self._minibatch, self._minibatch.inputs
        seen.observed, seen.beside = self._inputs - beside, beside
        fields = (
            (seen, "places" if seen.ones else "observation", batch.observation),
            (seen, "latent", batch.latent),
            (told, "moved" if told.continuous else "chosen", batch.action),
            (told, "log_probability", batch.log_probability),
            (told, "values", batch.values),
            (told, "advantage", batch.advantage),
            (told, "returns", batch.returns),
            (told, "real", batch.mask),
        )
        self._shown = []
        for part, name, values in fields:
            assert values is None or isinstance(values, Tensor)
            values = None if values is None else values.contiguous()
            setattr(part, name, None if values is None else values.data_ptr())
            self._shown.append(values)

    def _first_parameter(self) -> int:
        """Where the parameters begin, which stand one after the other: Adam has seen to that."""
        first, last = self.parameters[0], self.parameters[-1]
        begin = first.data_ptr()
        end = begin + (self._size - last.numel()) * first.element_size()
        assert last.data_ptr() == end, "the parameters are not one vector"
        return begin


def fused_adam_step(
    flat: Tensor,
    gradient: Tensor,
    first: Tensor,
    second: Tensor,
    rates: Tensor,
    epsilon: float,
    max_norm: float,
) -> Tensor:
    """What `rle.learn.adam.clipped_adam_step` does."""
    built = library()
    assert built is not None
    places = [vector.data_ptr() for vector in (flat, gradient, first, second)]
    norm = built.clipped_adam_step(*places, len(flat), *rates.tolist(), epsilon, max_norm, *BETAS)
    return torch.tensor(norm)
