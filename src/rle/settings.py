"""Settings by name: change them, and turn a configuration into JSON and back."""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rle.aliases import SETTINGS
from rle.checks import closest, require, short
from rle.config import RunConfig
from rle.errors import UsageError
from rle.own import SOURCE, own_strategy
from rle.renamed import REMOVED, RENAMED, notice, other_spelling
from rle.values import fitting

_BARE_SECTIONS = ("machine", "environment", "network", "learner")
"""Sections whose settings go by their bare names, as on the command line."""
_OWN = "own"
"""The section of strategies that are not part of this package, by their names."""


def replace(config: RunConfig, settings: Mapping[str, Any]) -> RunConfig:
    """`config` with `settings` changed, by the names of the command line.

    `rle.dimension` is the strategy's; `learning_rate` is found in its section by itself.
    """
    sections: dict[str, dict[str, Any]] = {}
    own: dict[str, dict[str, Any]] = {}
    top: dict[str, Any] = {}
    for name, value in in_present_words(settings).items():
        *section, key = locate(config, name)
        if section and section[0] == _OWN:
            own.setdefault(section[1], {})[name] = value
            continue
        kind = type(getattr(config, section[0]) if section else config)
        values = sections.setdefault(section[0], {}) if section else top
        values[key] = fitting(kind, key, value, name)
    for section_name, values in sections.items():
        top[section_name] = dataclasses.replace(getattr(config, section_name), **values)
    if own:
        top[_OWN] = dict(config.own or {}) | {
            section: _with_own_settings(section, (config.own or {})[section], values)
            for section, values in own.items()
        }
    return dataclasses.replace(config, **top)


def _with_own_settings(
    section: str, held: Mapping[str, Any], given: Mapping[str, Any]
) -> dict[str, Any]:
    """The section `held` of a user's strategy with the settings `given` by name, checked by it."""
    strategy = own_strategy(str(held[SOURCE]))
    assert strategy is not None
    assert strategy.settings is not None
    values = dict(held)
    for name, value in given.items():
        key = _path_of(name)[-1]
        values[key] = fitting(strategy.settings, key, value, name)
    return {SOURCE: strategy.path} | dataclasses.asdict(strategy.settings_from(values))


def changed(before: RunConfig, after: RunConfig) -> dict[str, Any]:
    """The settings that turn `before` into `after` by `replace`; both of one strategy."""
    settings: dict[str, Any] = {}
    for name in _field_names(before):
        old, new = getattr(before, name), getattr(after, name)
        if old == new:
            continue
        if name == _OWN:
            for section, values in (new or {}).items():
                held = (old or {}).get(section, {})
                settings |= {
                    f"{section}.{key}": value
                    for key, value in values.items()
                    if key != SOURCE and held.get(key) != value
                }
            continue
        if not dataclasses.is_dataclass(old):
            settings[name] = new
            continue
        for key in _field_names(old):
            if getattr(old, key) != getattr(new, key):
                settings[f"{name}.{key}"] = getattr(new, key)
    return settings


def locate(config: RunConfig, name: str) -> list[str]:
    """The path of a setting's name: [field], [section, field] or ["own", strategy, field].

    A name is spelled as on the command line (`--rle.resample-every`), as in tables
    (`rle.resample_every`) or as in Python (`rle__resample_every`), in British or American.
    """
    path = _path_of(_name_now(name))
    require(
        len(path) == 1 or getattr(config, path[0], path) is not None,
        f"{name!r} is a setting of a strategy that --explore {config.explore} does not use.",
    )
    for spelled in (path, [other_spelling(key) for key in path]):
        for place in (spelled, *([section, *spelled] for section in (*_BARE_SECTIONS, _OWN))):
            if _is_there(config, place):
                return place
    # Looking for the nearest name takes long: only once there is something to complain about.
    raise UsageError(f"there is no setting {name!r}: {_suggestion(config, name)}")


def in_present_words(settings: Mapping[str, Any]) -> dict[str, Any]:
    """`settings` by the names they have now, with a notice for each that has another one."""
    present = {}
    for name, value in settings.items():
        now = _name_now(name)
        require(
            now == name or now not in settings,
            f"{name!r} is now called {now!r}, and both are given: leave {name!r} out.",
        )
        if now != name:
            notice(name, now)
        present[now] = value
    return present


def _name_now(name: str) -> str:
    """`name`, or what the setting is called now, spelled in the way of `name`."""
    path = _path_of(name)
    for place in (path, *([section, *path] for section in _BARE_SECTIONS)):
        now = RENAMED.get(".".join(place))
        if now is not None:
            return _spelled_like(name, shortest_name(now.split(".")))
    return name


def _spelled_like(name: str, other: str) -> str:
    """A name of the command line as `name` is spelled: like that, as in tables or as in Python."""
    if name.startswith("--"):
        return f"--{other}"
    words = other.replace("-", "_")
    return words if "." in name else words.replace(".", "__")


def _path_of(name: str) -> list[str]:
    return name.removeprefix("--").replace("-", "_").replace("__", ".").split(".")


def _is_there(node: Any, path: Sequence[str]) -> bool:
    if path[0] == _OWN:
        sections = node.own or {}
        return len(path) == 3 and path[2] in sections.get(path[1], {}) and path[2] != SOURCE
    for key in path:
        if not dataclasses.is_dataclass(node) or key not in _field_names(node):
            return False
        node = getattr(node, key)
    return True


def _suggestion(config: RunConfig, name: str) -> str:
    """What `name` may have meant, spelled in its way."""
    # Where a run goes and what it begins with are no settings of it, but given beside them.
    beside = [["out"], ["init_from"]]
    known = {shortest_name(path): path for path in [*_paths(config), *beside]}
    *section, key = _path_of(name)
    key = SETTINGS.get(key, key)
    elsewhere = [other for other, path in known.items() if path[-1] == key and not section]
    meant = elsewhere[0] if elsewhere else closest(".".join([*section, key]), known)
    if meant is None:
        return "`rle train TASK --help` lists them all."
    unused = ""
    if not _is_there(config, known[meant]) and known[meant] not in beside:
        unused = f", of a strategy that --explore {config.explore} does not use"
    return f"did you mean {_spelled_like(name, meant)!r}{unused}?"


def _paths(config: RunConfig) -> Iterator[list[str]]:
    """Every setting there is, those of strategies that `config` does not use last."""
    hints = typing.get_type_hints(RunConfig)
    for top in sorted(_field_names(config), key=lambda top: getattr(config, top) is None):
        if top == _OWN:
            yield from (
                [_OWN, section, key]
                for section, values in (config.own or {}).items()
                for key in values
                if key != SOURCE
            )
            continue
        within = [[top, key] for kind in _sections(hints[top]) for key in _field_names(kind)]
        yield from within or [[top]]


def paths_in_use(config: RunConfig) -> list[list[str]]:
    """The path of every setting that `config` has, and that can be given by name beside its task."""
    before = (["task"], ["explore"], ["preset"])
    return [path for path in _paths(config) if _is_there(config, path) and path not in before]


def shortest_name(path: Sequence[str]) -> str:
    """The name of the command line for a path of `locate`."""
    bare = path[0] in (*_BARE_SECTIONS, _OWN)
    return ".".join(path[1:] if bare else path).replace("_", "-")


def _field_names(node: Any) -> list[str]:
    return [field.name for field in dataclasses.fields(node)]


def to_dict(config: RunConfig) -> dict[str, Any]:
    """A JSON-ready dictionary of the whole config."""
    return dataclasses.asdict(config)


def from_dict(values: Mapping[str, Any]) -> RunConfig:
    """The inverse of `to_dict`; also reads what earlier versions wrote.

    Raises:
        UsageError: a setting is unknown, or gone, or has a value that is not of its kind.

    """
    present = _in_present_sections(values)
    for name, (_, instead) in REMOVED.items():
        section, key = name.split(".")
        held = present.get(section)
        require(
            not (isinstance(held, Mapping) and key in held),
            f"{name} is a setting of earlier versions, and in this one {instead}: use the version that "
            "wrote it.",
        )
    built: RunConfig = _build(RunConfig, present)
    return built


_MOVED_TO_MACHINE = {
    "": ("device", "threads", "compile", "checkpoint_every", "tensorboard"),
    "environment": ("engine_threads",),
    "network": ("precision",),
    "learner": ("micro_batch",),
}
"""Settings that stood elsewhere before the machine had a section of its own."""


def _in_present_sections(values: Mapping[str, Any]) -> dict[str, Any]:
    """A dictionary of an earlier `to_dict`, every setting where it belongs and called as it is now."""
    present = dict(values)
    if "ppo" in present:
        present["learner"] = present.pop("ppo")
    for old, new in RENAMED.items():
        section, key = old.split(".")
        held = present.get(section)
        if isinstance(held, Mapping) and key in held:
            now = new.split(".")[1]
            present[section] = {now if name == key else name: held[name] for name in held}
    for old, (value, _) in REMOVED.items():
        section, key = old.split(".")
        held = present.get(section)
        if isinstance(held, Mapping) and held.get(key) == value:
            present[section] = {name: held[name] for name in held if name != key}
    moved: dict[str, Any] = {}
    for section, names in _MOVED_TO_MACHINE.items():
        place = present
        if section:
            if not isinstance(present.get(section), Mapping):
                continue
            place = present[section] = dict(present[section])
        moved |= {name: place.pop(name) for name in names if name in place}
    held = present.get("machine", {})
    if isinstance(held, Mapping) and (moved or "machine" in present):
        machine = moved | dict(held)
        if machine.pop("tensorboard", False):
            machine["sinks"] = ["tensorboard"]
        present["machine"] = machine
    return present


def with_defaults(values: Mapping[str, Any]) -> dict[str, Any]:
    """A dictionary of `to_dict`, with settings that have come since its version at their defaults.

    A new setting's default leaves things as they were. Sections the run did not have stay away, and
    settings that are gone stay in.
    """
    filled = values = _in_present_sections(values)
    hints = typing.get_type_hints(RunConfig)
    for field in dataclasses.fields(RunConfig):
        present = values.get(field.name)
        if isinstance(present, Mapping) and field.name != _OWN:
            filled[field.name] = dataclasses.asdict(_section(hints[field.name])()) | dict(present)
        elif field.name not in values and field.default is not dataclasses.MISSING:
            filled[field.name] = field.default
    return filled


def _build(kind: type[Any], values: Mapping[str, Any], place: str = "") -> Any:
    """Build dataclass `kind` from JSON values: lists become tuples, dictionaries dataclasses."""
    hints = typing.get_type_hints(kind)
    unknown = set(values) - set(hints)
    require(not unknown, f"unknown settings in the configuration: {', '.join(sorted(unknown))}.")
    converted = {}
    for name, value in values.items():
        if name == _OWN:
            converted[name] = _own_sections(value)
        elif not _sections(hints[name]):
            converted[name] = fitting(kind, name, value, place + name)
        elif value is not None or types.NoneType not in typing.get_args(hints[name]):
            require(isinstance(value, Mapping), f"{name} is {short(value)}: give its settings.")
            converted[name] = _build(_section(hints[name]), value, f"{name}.")
    return kind(**converted)


def _own_sections(value: Any) -> dict[str, dict[str, Any]] | None:
    """Settings of users' strategies: only these know their types."""
    if value is None:
        return None
    sections = value.values() if isinstance(value, Mapping) else [None]
    require(
        all(isinstance(held, Mapping) and isinstance(held.get(SOURCE), str) for held in sections),
        f"{_OWN} is {short(value)}: give each strategy's settings with the module:NAME it came from.",
    )
    return {
        name: {key: _frozen(part) for key, part in held.items()} for name, held in value.items()
    }


def _frozen(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _frozen(part) for key, part in value.items()}
    return tuple(value) if isinstance(value, list) else value


def _section(hint: Any) -> type[Any]:
    """The dataclass in a hint."""
    (section,) = _sections(hint)
    return section


def _sections(hint: Any) -> list[type[Any]]:
    # get_type_hints has taken the annotations off, what is left is X or X | None.
    options = typing.get_args(hint) if isinstance(hint, types.UnionType) else (hint,)
    return [option for option in options if hasattr(option, "__dataclass_fields__")]
