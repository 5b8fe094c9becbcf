"""Laws of the latent vector z."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from rle.checks import nearest
from rle.errors import UsageError
from rle.modules import import_named

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


def load_function(path: str, setting: str, arguments: Sequence[str]) -> Callable[..., object]:
    """The function that `module:function` names, which can be called with `arguments`."""
    module_name, _, name = path.partition(":")
    if not module_name or not name:
        raise UsageError(f"{setting} is {path!r}: give module:function of a function of yours.")
    module = import_named(module_name, f"{setting} is {path!r}")
    found = getattr(module, name, None)
    if not callable(found):
        functions = [key for key, value in vars(module).items() if callable(value)]
        raise UsageError(
            f"{setting} is {path!r}, but {module_name} has no function {name!r}: "
            f"{nearest(name, functions)}"
        )
    try:
        inspect.signature(found).bind(*arguments)
    except TypeError as error:
        raise UsageError(
            f"{setting} calls {name}({', '.join(arguments)}), which {path!r} does not allow "
            f"({error}): give it these parameters."
        ) from error
    except ValueError:
        # A function that is not written in Python may not say what it takes.
        pass
    return found


def latent_law(name: str, dimension: int) -> LatentSampler:
    """The law called `name`, or a user's own by `module:function`, checked."""
    if ":" not in name:
        if name not in LAWS:
            raise UsageError(f"rle.law is {name!r}: {nearest(name, LAWS)}")
        return LAWS[name]
    law: LatentSampler = load_function(name, "rle.law", ("shape", "generator"))  # type: ignore[assignment]
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
    if not bool(drawn.isfinite().all()):
        raise UsageError(f"rle.law {name!r} draws numbers that are not finite: return finite ones.")
    mean = drawn.double().mean(0)
    # Five standard errors: a centred law trips this about once in a million runs.
    tolerance = 5 * drawn.double().std(0) / samples**0.5 + 1e-12
    if bool((mean.abs() > tolerance).any()):
        warnings.warn(
            f"the latent law {name!r} does not have mean zero: every z then pulls the agent to the "
            "same places, and exploration suffers; centre it.",
            stacklevel=3,
        )
