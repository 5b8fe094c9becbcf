"""Strategy names and what builds them: those of this package, and those that users bring."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rle.aliases import STRATEGIES
from rle.checks import nearest
from rle.config import RunConfig
from rle.errors import UsageError
from rle.explore.records import RECORDS, StrategyRecord, record_of
from rle.own import SOURCE, installed_strategies, own_strategy

if TYPE_CHECKING:
    import torch

    from rle.explore.base import Strategy
    from rle.tasks.base import TaskSpec


def strategy_names() -> dict[str, str]:
    """Every strategy with one line about it, those of installed packages last."""
    ours = {record.name: record.description for record in RECORDS.values()}
    return ours | {
        name: f"from {path}" for name, path in installed_strategies().items() if name not in ours
    }


def find_record(part: str) -> StrategyRecord:
    """The record of a strategy: of this package, an installed one, or the user's `module:NAME`."""
    if part in RECORDS:
        return RECORDS[part]
    own = own_strategy(part)
    if own is not None:
        return record_of(own)
    meant = STRATEGIES.get(part.lower(), part)
    raise UsageError(f"there is no strategy {part!r}: {nearest(meant, strategy_names())}")


def check_strategy_name(name: str) -> None:
    """Raise `UsageError` with the nearest name unless `name` is a strategy or a mixture `a+b`."""
    names = [find_record(part).name for part in name.split("+")]
    if len(names) > 1 and (len(set(names)) < len(names) or {"none", "random"} & set(names)):
        raise UsageError(
            f"the mixture {name!r} must name different strategies other than none and random."
        )


def make_strategy(config: RunConfig, spec: TaskSpec, device: torch.device) -> Strategy:
    """Build the strategy, or the mixture `a+b`, that `config.explore` names."""
    sources = [_source(config, part) for part in config.explore.split("+")]
    check_strategy_name("+".join(sources))
    parts: dict[str, Strategy] = {}
    for part in sources:
        record = find_record(part)
        parts[record.name] = record.build(config, _settings(config, part, record), spec, device)
    if len(parts) == 1:
        return next(iter(parts.values()))
    from rle.explore.mixture import Mixture

    return Mixture(parts)


def _source(config: RunConfig, part: str) -> str:
    """Where `part` comes from: an installed strategy may have gone by the name it had then."""
    if part in RECORDS or ":" in part:
        return part
    held = (config.own or {}).get(part.replace("-", "_"), {})
    return str(held.get(SOURCE, part))


def _settings(config: RunConfig, part: str, record: StrategyRecord) -> Any:
    """The strategy's own settings; None if it has none."""
    section = record.name.replace("-", "_")
    own = None if part in RECORDS else own_strategy(part)
    if own is not None:
        return own.settings_from((config.own or {}).get(section, {}))
    settings = getattr(config, section, None)
    if record.settings is not None and settings is None:
        raise UsageError(
            f"explore is {record.name!r} but the configuration has no {record.name} settings."
        )
    return settings
