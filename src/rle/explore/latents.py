"""Laws of the latent vector z."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable

import torch
from torch import Tensor

from rle.checks import nearest
from rle.errors import UsageError

LatentSampler = Callable[[tuple[int, ...], torch.Generator], Tensor]
"""Draws z of the given shape `(..., d)` with the given generator."""


def sphere(shape: tuple[int, ...], generator: torch.Generator) -> Tensor:
    """Uniform on the unit sphere of the last dimension: the paper's choice."""
    return torch.nn.functional.normalize(torch.randn(shape, generator=generator), dim=-1)


def uniform(shape: tuple[int, ...], generator: torch.Generator) -> Tensor:
    """Uniform on [-0.5, 0.5]^d."""
    return torch.rand(shape, generator=generator) - 0.5


def normal(shape: tuple[int, ...], generator: torch.Generator) -> Tensor:
    """Standard normal."""
    return torch.randn(shape, generator=generator)


LAWS: dict[str, LatentSampler] = {"sphere": sphere, "uniform": uniform, "normal": normal}


def load_function(path: str, setting: str) -> Callable[..., object]:
    """The function that `module:function` names."""
    module_name, _, function_name = path.partition(":")
    try:
        found = getattr(importlib.import_module(module_name), function_name)
    except (ImportError, AttributeError) as error:
        raise UsageError(
            f"{setting} is {path!r}, which cannot be imported ({error}): "
            "give module:function of a function on the Python path."
        ) from error
    if not callable(found):
        raise UsageError(f"{setting} is {path!r}, which is not a function.")
    return found


def latent_law(name: str, dimension: int) -> LatentSampler:
    """The law called `name`, or a user's own by `module:function`, checked."""
    if ":" not in name:
        if name not in LAWS:
            raise UsageError(f"rle.law is {name!r}: {nearest(name, LAWS)}")
        return LAWS[name]
    law: LatentSampler = load_function(name, "rle.law")  # type: ignore[assignment]
    _check(law, name, dimension)
    return law


def _check(law: LatentSampler, name: str, dimension: int) -> None:
    """Reject a law of the wrong shape; warn of one whose mean is not zero."""
    samples = 4096
    drawn = law((samples, dimension), torch.Generator().manual_seed(0))
    if not isinstance(drawn, Tensor) or drawn.shape != (samples, dimension):
        raise UsageError(
            f"rle.law {name!r} must return a tensor of the shape it is asked for, "
            f"here ({samples}, {dimension})."
        )
    mean = drawn.double().mean(0)
    # Five standard errors: a centred law trips this about once in a million runs.
    tolerance = 5 * drawn.double().std(0) / samples**0.5 + 1e-12
    if bool((mean.abs() > tolerance).any()):
        warnings.warn(
            f"the latent law {name!r} does not have mean zero: every z then pulls the agent to the "
            "same places, and exploration suffers; centre it.",
            stacklevel=3,
        )
