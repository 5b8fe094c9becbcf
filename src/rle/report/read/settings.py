"""The settings of a run by their dotted names: the one place where the report knows any of them."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from rle.checks import LARGEST, require, short
from rle.errors import UsageError
from rle.presets import preset_config
from rle.report.read.words import plain_text, steps_text
from rle.settings import shortest_name, to_dict, with_defaults
from rle.tasks import fourroom_plan

Settings = dict[str, Any]
"""A configuration with dotted names, such as `rle.dimension`."""

TOTAL_STEPS = "total_steps"
INIT_FROM = "init_from"
"""No setting, but it makes a method: whose agent a run began with."""
_FOLLOWING = "rle.feature_update_rate"
_FEATURES = "rle.feature_hidden"
_SHAPE_OF_FEATURES = frozenset({_FEATURES, "rle.feature_activation"})
# What a preset changes is in the other settings.
_NOT_A_METHOD = frozenset({"task", "explore", "seed", "preset"})
_LABELS = {
    "rle.dimension": "d",
    "rle.distribution": "distribution",
    "rle.resample_every": "S",
    _FEATURES: "φ",
    "rle.condition": "z-conditioning",
    "rle.condition_on_bonus": "previous bonus as input",
    "rle.standardise": "standardised features",
    "rle.unit_norm": "unit norm",
    "rle.separate_streams": "separate value heads",
    "rle.discount": "bonus discount",
    "rle.scale_bonus": "bonus scaling",
    "learner.scale_reward": "reward scaling",
}
"""Short names of settings; the others are called by their own."""


def read_settings(config: dict[str, Any], meta: dict[str, Any]) -> Settings:
    """The settings in a run's `config.json`, complete, and what its `meta.json` says it began with.

    Not through `RunConfig`: runs of other versions, with other settings, are shown too.
    """
    settings = _flatten(json.loads(json.dumps(with_defaults(config))))
    settings = {
        plain_text(name): plain_text(value) if isinstance(value, str) else value
        for name, value in settings.items()
    }
    for name, fits in _NEEDED.items():
        value = settings.get(name)
        require(fits(value), f"its setting {name} is {short(value)}, which cannot be shown.")
    origin = origin_of(meta)
    if origin is not None:
        # Not its folder: every seed may have begun with another.
        settings[INIT_FROM] = (
            f"{origin['explore']} on {origin['task']} at {steps_text(origin['step'])} steps"
        )
    return settings


def origin_of(meta: dict[str, Any]) -> dict[str, Any] | None:
    """Whose agent a run began with, as its `meta.json` says; None if it does not say so readably."""
    origin = meta.get(INIT_FROM)
    if not isinstance(origin, dict) or not {"run", "step", "task", "explore"} <= origin.keys():
        return None
    return origin if _is_count(origin["step"]) else None


def _is_count(value: Any) -> bool:
    return type(value) is int and 0 <= value <= LARGEST


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_corner(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 2 and all(map(_is_count, value))


_NEEDED: dict[str, Callable[[Any], bool]] = {
    "task": _is_text,
    "explore": _is_text,
    "preset": _is_text,
    "seed": lambda value: type(value) is int and 0 <= value < 2**128,
    TOTAL_STEPS: _is_count,
    "environment.time_limit": lambda value: value is None or _is_count(value),
    "environment.television": lambda value: value is None or _is_corner(value),
}
"""Settings that a report computes with; of all others it shows what they are."""


def preset_settings(task: str, explore: str, preset: str | None) -> Settings:
    """The settings of a preset; none if this version lacks it, or a module of the user's has it."""
    if ":" in task + explore:
        # To read about what users bring, their modules are not needed.
        return {}
    try:
        config = preset_config(task, explore, preset)
    except (UsageError, KeyError):
        return {}
    return _flatten(json.loads(json.dumps(to_dict(config))))


def _flatten(values: dict[str, Any], prefix: str = "") -> Settings:
    flat: Settings = {}
    for key, value in values.items():
        if isinstance(value, dict):
            flat |= _flatten(value, f"{prefix}{key}.")
        else:
            flat[prefix + key] = value
    return flat


def makes_a_method(key: str) -> bool:
    """Whether runs that differ in a setting are of different methods; the machine's make none."""
    return key not in _NOT_A_METHOD and not key.startswith("machine.")


def planned_steps(settings: Settings) -> int:
    """Steps a run is to make."""
    return int(settings[TOTAL_STEPS])


def time_limit(settings: Settings) -> int:
    """Steps after which an episode of FourRoom ends."""
    limit = settings.get("environment.time_limit")
    return fourroom_plan.TIME_LIMIT if limit is None else int(limit)


def television(settings: Settings) -> tuple[int, int] | None:
    """Row and column of the television's corner."""
    corner = settings.get("environment.television")
    return (int(corner[0]), int(corner[1])) if corner else None


def say_settings(keys: list[str], settings: Settings) -> list[str]:
    """Settings and their values, each as short as a legend needs it."""
    if _FOLLOWING in keys and settings.get(_FOLLOWING):
        # A φ that follows the value network has its shape: that goes without saying.
        keys = [key for key in keys if key not in _SHAPE_OF_FEATURES]
    return [_say(key, settings.get(key)) for key in keys]


def _say(key: str, value: Any) -> str:
    name = _LABELS.get(key, shortest_name(key.split(".")).replace("-", " "))
    if key == TOTAL_STEPS:
        return f"{steps_text(value)} steps"
    if key == INIT_FROM:
        return "from scratch" if value is None else f"begun with {value}"
    if key == _FOLLOWING:
        return f"φ follows V (τ={value})" if value else "φ frozen"
    if key == _FEATURES and value is None:
        return "φ in V's shape"
    if key == _FEATURES and not value:
        return "φ linear"
    if isinstance(value, bool):
        return name if value else f"no {name}"
    if isinstance(value, list):
        return f"{name} ({', '.join(map(str, value))})"
    return f"{name}={'none' if value is None else value}"
