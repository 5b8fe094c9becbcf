"""Where an iteration's numbers go: callbacks that are built from (run directory, configuration)."""

from __future__ import annotations

import importlib
from collections.abc import Callable

from rle.checks import nearest
from rle.config import RunConfig
from rle.errors import UsageError
from rle.explore.latents import load_function
from rle.modules import installed
from rle.runs.callbacks import Callback
from rle.runs.directory import RunDirectory

SinkFactory = Callable[[RunDirectory, RunConfig], Callback]

GROUP = "rle.sinks"
"""The entry points by which installed packages offer sinks."""
_OURS = {
    "tensorboard": ("rle.runs.sinks.tensorboard", "TensorBoardSink"),
    "wandb": ("rle.runs.sinks.wandb", "WandbSink"),
    "trackio": ("rle.runs.sinks.trackio", "TrackioSink"),
}
"""Modules that import what they log to; each has an extra of its name."""


def find_sink(name: str) -> SinkFactory:
    """What builds the sink called `name`: ours, an installed package's, or `module:name` of a user."""
    if name in _OURS:
        return _ours(name)
    if ":" not in name and name not in installed(GROUP):
        raise UsageError(
            f"there is no sink {name!r}: {nearest(name, [*_OURS, *installed(GROUP)])} One of your own "
            "is module:name."
        )
    return load_function(name, "sinks", ("run", "config"), GROUP)  # type: ignore[return-value]


def _ours(name: str) -> SinkFactory:
    module, kind = _OURS[name]
    try:
        factory: SinkFactory = getattr(importlib.import_module(module), kind)
    except ImportError as error:
        raise UsageError(
            f"the sink {name} needs a package that is not installed: "
            f"pip install 'random-latent-exploration[{name}]'."
        ) from error
    return factory
