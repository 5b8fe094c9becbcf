"""Strategies of the user's own: what they are called, and which settings they have.

They are found by `module:NAME`, or by an entry point of the group `rle.strategies`. What is found is a
`StrategyRecord` or a subclass of `Strategy` (`rle.explore`); here only its name, settings and preset
count, so that settings can be read before anything is built. In a configuration they are plain values:
whoever only reads a run directory does not need the user's module.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rle.checks import nearest, require, require_finite
from rle.config import RunConfig
from rle.errors import UsageError
from rle.modules import import_named, installed
from rle.values import fitting

GROUP = "rle.strategies"
SOURCE = "strategy"
"""Where a section of `RunConfig.own` says which `module:NAME` it belongs to."""
_TAKEN = {field.name for field in dataclasses.fields(RunConfig)} | {"none", "random"}


@dataclass(frozen=True)
class OwnStrategy:
    """A strategy that is not part of this package."""

    section: str
    """Its name with underscores: what its settings are found under."""
    path: str
    """`module:NAME`."""
    found: Any
    settings: type[Any] | None
    preset: Mapping[str, Any]

    def defaults(self) -> dict[str, Any]:
        """Its section in a configuration."""
        return {SOURCE: self.path} | ({} if self.settings is None else _values(self.settings()))

    def settings_from(self, section: Mapping[str, Any]) -> Any:
        """Its settings as an object, from the section of a configuration; None if it has none."""
        values = {key: value for key, value in section.items() if key != SOURCE}
        known = [] if self.settings is None else [f.name for f in dataclasses.fields(self.settings)]
        for key in values:
            require(
                key in known,
                f"{self.path} has no setting {key!r}, which the configuration names: use the version "
                "of it that the run was made with.",
            )
            require_finite(f"{self.section}.{key}", values[key])
        if self.settings is None:
            return None
        return self.settings(
            **{k: fitting(self.settings, k, v, f"{self.section}.{k}") for k, v in values.items()}
        )


def _values(settings: Any) -> dict[str, Any]:
    return {field.name: getattr(settings, field.name) for field in dataclasses.fields(settings)}


def installed_strategies() -> dict[str, str]:
    """The `module:NAME` of every strategy that an installed package brings along, by its name."""
    return {name: entry.value for name, entry in installed(GROUP).items()}


def own_strategy(part: str) -> OwnStrategy | None:
    """The user's strategy that `part` of `--explore` names; None if it names none."""
    path = part if ":" in part else installed_strategies().get(part)
    if path is None or part.replace("-", "_") in _TAKEN:
        return None
    module_name, _, name = path.partition(":")
    if not module_name or not name:
        raise UsageError(f"explore names {part!r}: give module:NAME of a strategy of yours.")
    module = import_named(module_name, f"explore names {part!r}")
    found = getattr(module, name, None)
    if found is None:
        names = [key for key in vars(module) if not key.startswith("_")]
        raise UsageError(
            f"explore names {part!r}, but {module_name} has no {name!r}: {nearest(name, names)}"
        )
    section = _section_name(found, name, path)
    settings = getattr(found, "settings", None)
    _check_settings(settings, path)
    return OwnStrategy(section, path, found, settings, getattr(found, "preset", {}))


def _section_name(found: Any, name: str, path: str) -> str:
    called = getattr(found, "name", "") or re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", name).lower()
    section = str(called).replace("-", "_")
    require(
        section not in _TAKEN,
        f"{path} is called {called!r}, which means something else here: give it another name.",
    )
    require(
        re.fullmatch(r"[a-z][a-z0-9_]*", section) is not None,
        f"{path} is called {called!r}: give it a name of lower-case letters, digits and dashes.",
    )
    return section


def _check_settings(settings: Any, path: str) -> None:
    """Raise `UsageError` unless `settings` is None or a frozen dataclass with defaults."""
    if settings is None:
        return
    require(
        isinstance(settings, type)
        and dataclasses.is_dataclass(settings)
        and settings.__dataclass_params__.frozen,  # type: ignore[attr-defined]
        f"the settings of {path} must be a frozen dataclass: @dataclass(frozen=True).",
    )
    for field in dataclasses.fields(settings):
        missing = field.default is dataclasses.MISSING
        require(
            not (missing and field.default_factory is dataclasses.MISSING),
            f"the setting {field.name!r} of {path} has no default: give it one.",
        )
        require(
            field.name != SOURCE,
            f"a setting of {path} is called {SOURCE!r}, which has a meaning in config.json: give it "
            "another name.",
        )
