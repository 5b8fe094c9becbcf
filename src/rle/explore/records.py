"""What is known of a strategy before it is built: one record each.

Records are light: that a strategy is there can be said without PyTorch, which takes longer to import
than most answers.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, cast

from rle.config import NoisyConfig, RLEConfig, RNDConfig, RunConfig, WhiteNoiseConfig
from rle.errors import UsageError
from rle.own import OwnStrategy

if TYPE_CHECKING:
    import torch

    from rle.explore.base import Strategy
    from rle.tasks.base import TaskSpec


class Builder(Protocol):
    """Makes a strategy."""

    def __call__(
        self, config: RunConfig, settings: Any, spec: TaskSpec, device: torch.device, /
    ) -> Strategy:
        """Build it for a run of `config`, with its own `settings`, on the task of `spec`."""


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
    from rle.explore.base import Strategy

    found = own.found
    if isinstance(found, StrategyRecord):
        return found
    if not (isinstance(found, type) and issubclass(found, Strategy)):
        raise UsageError(
            f"explore names {own.path!r}, which is neither a StrategyRecord nor a subclass of Strategy: "
            "see docs/your-own-strategy.md."
        )
    try:
        inspect.signature(found).bind("config", "settings", "spec", "device")
    except TypeError as error:
        raise UsageError(
            f"explore calls {own.path}(config, settings, spec, device), which it does not allow "
            f"({error}): give it these parameters."
        ) from error
    line = (found.__doc__ or own.path).strip().partition("\n")[0]
    build = cast("Builder", found)
    return StrategyRecord(own.section.replace("_", "-"), line, build, own.settings, own.preset)


def _built_by(module: str) -> Builder:
    """The function `build_<module>` of a module of this package, imported when it is called."""

    def build(config: RunConfig, settings: Any, spec: TaskSpec, device: torch.device) -> Strategy:
        builder = getattr(importlib.import_module(f"rle.explore.{module}"), f"build_{module}")
        strategy: Strategy = builder(config, settings, spec, device)
        return strategy

    return build


RECORDS = {
    record.name: record
    for record in (
        StrategyRecord("none", "plain PPO: the policy's own randomness", _built_by("none")),
        StrategyRecord(
            "rle",
            "Random Latent Exploration: a bonus φ(s')·z for a random z that policy and value see",
            _built_by("rle"),
            RLEConfig,
        ),
        StrategyRecord(
            "rnd",
            "Random Network Distillation: a bonus where a fixed random network is hard to predict",
            _built_by("rnd"),
            RNDConfig,
        ),
        StrategyRecord(
            "noisy",
            "NoisyNet: learned noise on the weights of the last layers",
            _built_by("noisy"),
            NoisyConfig,
        ),
        StrategyRecord(
            "white-noise",
            "N(0, 1) added to every reward: RLE without state or latent",
            _built_by("white_noise"),
            WhiteNoiseConfig,
        ),
        StrategyRecord(
            "random",
            "uniformly random actions, nothing learned: what chance alone explores",
            _built_by("random_actions"),
        ),
    )
}
"""The strategies of this package."""
