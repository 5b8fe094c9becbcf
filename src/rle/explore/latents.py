"""Distributions of z, and functions that users bring, by name: `module:function` or an entry point's."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import cast

from rle.checks import nearest
from rle.core.distributions import (
    LATENT_DISTRIBUTIONS,
    LatentDistribution,
    check_latent_distribution,
)
from rle.errors import UsageError
from rle.modules import DISTRIBUTION_GROUP, import_named, installed


def load_function(
    path: str, setting: str, arguments: Sequence[str], group: str
) -> Callable[..., object]:
    """The function that `module:function` names, which can be called with `arguments`.

    Without a colon it is the name of an entry point of `group`.
    """
    if path in installed(group):
        path = installed(group)[path].value
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


def latent_distribution(name: str, dimension: int) -> LatentDistribution:
    """The distribution called `name`, or a user's own, checked."""
    if name in LATENT_DISTRIBUTIONS:
        return LATENT_DISTRIBUTIONS[name]
    known = [*LATENT_DISTRIBUTIONS, *installed(DISTRIBUTION_GROUP)]
    if ":" not in name and name not in known:
        raise UsageError(f"rle.distribution is {name!r}: {nearest(name, known)}")
    arguments = ("shape", "generator")
    found = load_function(name, "rle.distribution", arguments, DISTRIBUTION_GROUP)
    distribution = cast(LatentDistribution, found)
    check_latent_distribution(distribution, dimension, name)
    return distribution
