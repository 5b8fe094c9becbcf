"""What is known of a strategy before it is built: one record each, in the strategy's own file."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch

from rle.config import RunConfig
from rle.errors import UsageError
from rle.explore.base import Strategy
from rle.own import OwnStrategy
from rle.tasks.base import TaskSpec

Builder = Callable[[RunConfig, Any, TaskSpec, torch.device], Strategy]
"""Makes a strategy of the run's configuration, its own settings, the task and the device."""


@dataclass(frozen=True)
class StrategyRecord:
    """A strategy by name. A `Strategy` subclass that is built the same way is a record too."""

    name: str
    """For `--explore`, and before its settings: `--name.coefficient`."""
    description: str
    """One line, for `rle list strategies`."""
    build: Builder
    settings: type[Any] | None = None
    """A frozen dataclass, every field with a default."""
    preset: Mapping[str, Any] = field(default_factory=dict)
    """Settings of the whole run that the strategy starts from, by dotted name."""


def record_of(own: OwnStrategy) -> StrategyRecord:
    """The record of a strategy of the user's."""
    found = own.found
    if isinstance(found, StrategyRecord):
        return found
    if not (isinstance(found, type) and issubclass(found, Strategy)):
        raise UsageError(
            f"explore names {own.path!r}, which is neither a StrategyRecord nor a subclass of Strategy: "
            "see docs/your-own.md."
        )
    try:
        inspect.signature(found).bind("config", "settings", "spec", "device")
    except TypeError as error:
        raise UsageError(
            f"explore calls {own.path}(config, settings, spec, device), which it does not allow "
            f"({error}): give it these parameters."
        ) from error
    line = (found.__doc__ or own.path).strip().partition("\n")[0]
    return StrategyRecord(own.section.replace("_", "-"), line, found, own.settings, own.preset)
