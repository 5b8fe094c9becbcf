"""Studies in small TOML files, with one sentence for each mistake in them."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from rle.checks import nearest, require
from rle.errors import UsageError
from rle.explore.registry import check_strategy_name
from rle.presets import preset_config
from rle.settings import replace
from rle.studies.definitions import Method, Study
from rle.studies.resources import Resources, parse_memory
from rle.tasks.registry import check_task_name

SUFFIX = ".toml"


class Key(NamedTuple):
    """What may stand under a key."""

    kind: type | tuple[type, ...]
    words: str
    needed: bool = True


OF_STUDY: Mapping[str, Key] = {
    "name": Key(str, "a text"),
    "description": Key(str, "a text", needed=False),
    "tasks": Key(list, 'a list of texts, such as ["gym/CartPole-v1"]'),
    "methods": Key(list, "tables, each below a line [[methods]]"),
    "seeds": Key(int, "a whole number"),
    "total_steps": Key(int, "a whole number", needed=False),
    "preset": Key(str, "a text", needed=False),
    "cpus_per_run": Key((int, float), "a number", needed=False),
    "gpus_per_run": Key((int, float), "a number", needed=False),
    "memory_per_run": Key(str, 'a text, such as "2GB"', needed=False),
}
OF_METHOD: Mapping[str, Key] = {
    "name": Key(str, "a text"),
    "explore": Key(str, "a text"),
    "settings": Key(dict, 'a table, such as { "rle.dimension" = 8 }', needed=False),
}


def read_study(path: Path) -> Study:
    """The study that a file declares."""
    values = _parsed(path)
    _check_keys(values, OF_STUDY, str(path))
    for number, task in enumerate(values["tasks"], start=1):
        at = f"{path}, tasks, number {number}"
        require(isinstance(task, str), f"{at} is {task!r}: give a text.")
        _say_where(at, check_task_name, task)
    require(bool(values["tasks"]), f"{path}, tasks is empty: name one.")
    require(values["seeds"] > 0, f"{path}, seeds is {values['seeds']}: give a number above 0.")
    methods = tuple(
        _method(table, f"{path}, methods, number {number}")
        for number, table in enumerate(values["methods"], start=1)
    )
    require(bool(methods), f"{path}, methods is empty: write one below a line [[methods]].")
    study: Study = _say_where(
        str(path),
        lambda: Study(
            values["name"],
            values.get("description", ""),
            tuple(values["tasks"]),
            methods,
            values["seeds"],
            values.get("total_steps"),
            values.get("preset"),
            resources=_resources(values),
        ),
    )
    for method in methods:
        for task in study.tasks:
            config = _say_where(
                f"{path}, preset", preset_config, task, method.explore, study.preset
            )
            at = f"{path}, methods, {method.name!r}, settings"
            _say_where(at, replace, config, method.settings)
    if study.total_steps is not None:
        _say_where(f"{path}, total_steps", replace, config, {"total_steps": study.total_steps})
    return study


def named_in(path: Path, kind: str) -> list[str]:
    """The `tasks` or the `methods` that a file names, unchecked: nothing that it names is imported."""
    held = _parsed(path).get(kind)
    parts = held if isinstance(held, list) else []
    names = [part.get("name") if isinstance(part, dict) else part for part in parts]
    return [name for name in names if isinstance(name, str)]


def _parsed(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(
            f"the file {path} cannot be read ({error.strerror}): give one that declares a study."
        ) from error
    except UnicodeDecodeError as error:
        raise UsageError(f"the file {path} is no text in UTF-8: save it as that.") from error
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"the file {path} is not valid TOML: {error}.") from error
    except (ValueError, RecursionError) as error:
        # No file has such a name; a number has digits without end; brackets are nested without end.
        raise UsageError(
            f"the file {path} cannot be read ({error}): give one that declares a study."
        ) from error


def _resources(values: Mapping[str, Any]) -> Resources:
    memory = values.get("memory_per_run")
    return Resources(
        values.get("cpus_per_run"),
        values.get("gpus_per_run", 0.0),
        0 if memory is None else parse_memory(memory),
    )


def _method(table: Any, at: str) -> Method:
    require(isinstance(table, dict), f"{at} is {table!r}: give {OF_STUDY['methods'].words}.")
    _check_keys(table, OF_METHOD, at)
    _say_where(f"{at}, explore", check_strategy_name, table["explore"])
    return Method(table["name"], table["explore"], table.get("settings", {}))


def _check_keys(values: Mapping[str, Any], keys: Mapping[str, Key], at: str) -> None:
    """Raise `UsageError` unless every key is known, every needed one there and each of its kind."""
    for name in values:
        require(name in keys, f"{at} has an unknown key {name!r}: {nearest(name, keys)}")
    for name, key in keys.items():
        if name not in values:
            require(not key.needed, f"{at} has no {name}: give {key.words}.")
            continue
        value = values[name]
        # To Python, True is a whole number.
        fits = isinstance(value, key.kind) and not isinstance(value, bool)
        require(fits, f"{at}, {name} is {value!r}: give {key.words}.")


def _say_where(at: str, check: Any, *arguments: Any) -> Any:
    """What `check` returns; its complaint begins with the place in the file."""
    try:
        return check(*arguments)
    except UsageError as error:
        raise UsageError(f"{at}: {error}") from error
