"""Values for settings, given in Python: checked against the setting's type as on the command line."""

from __future__ import annotations

import json
import sys
import types
import typing
from collections.abc import Mapping, Sized
from functools import cache
from numbers import Integral, Real
from typing import Any, Literal, Union

from rle.errors import UsageError


class Keywords(dict[str, Any]):
    """Keyword arguments as a setting: what JSON can hold, hashable by it, and not to be changed."""

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(json.dumps(self, sort_keys=True))

    @classmethod
    def of(cls, values: Mapping[str, Any], name: str) -> Keywords:
        """`values` as JSON gives them back, or a `UsageError` about the setting `name`."""
        try:
            kept = json.loads(json.dumps(dict(values), allow_nan=False))
        except (TypeError, ValueError, RecursionError) as error:
            raise UsageError(
                f"{name} is {values!r}, which is not kept in config.json ({error}): give numbers, "
                "texts, True, False, None, and lists and dictionaries of them."
            ) from error
        if not all(isinstance(key, str) for key in values):
            raise UsageError(f"{name} is {values!r}: keyword arguments are called by texts.")
        return cls(kept)

    @classmethod
    def from_json(cls, text: str, name: str) -> Keywords:
        """The object that a text on the command line describes."""
        try:
            values = json.loads(text)
        except (ValueError, RecursionError):
            values = None
        if not isinstance(values, dict):
            example = '{"map_name": "8x8"}'
            raise UsageError(f"{name} is {text}: give an object of JSON, such as {example}.")
        return cls(values)


def fitting(section: type[Any], key: str, value: Any, name: str) -> Any:
    """`value` as the field `key` of `section` keeps it, or a `UsageError` about `name`.

    1e6 is a whole number, a list is a tuple. A function is left to the section to name.
    """
    if callable(value):
        return value
    hint = _hints(section)[key]  # type: ignore[arg-type]
    options = typing.get_args(hint) if typing.get_origin(hint) in _UNIONS else (hint,)
    for option in options:
        fits, converted = _as(option, value)
        if fits:
            return converted
    kinds = dict.fromkeys(map(_words, options))
    raise UsageError(f"{name} is {value!r}: give {' or '.join(kinds)}.")


_UNIONS = (Union, types.UnionType)


@cache
def _hints(section: type[Any]) -> dict[str, Any]:
    return typing.get_type_hints(section)


def _as(option: Any, value: Any) -> tuple[bool, Any]:
    """Whether `value` is an `option`, and what it then is."""
    if option is Keywords and isinstance(value, Mapping):
        return True, value
    if option == tuple[str, ...] and isinstance(value, list | tuple):
        return all(isinstance(name, str) or callable(name) for name in value), tuple(value)
    if _is_tuple(option) and isinstance(value, list | tuple):
        sizes = [_as(int, size) for size in value]
        return all(fits for fits, _ in sizes) and _has_length(option, value), tuple(
            size for _, size in sizes
        )
    if option is int and _is_whole(value):
        return True, int(value)
    if option is float and _is_number(value) and abs(value) <= sys.float_info.max:
        return True, float(value)
    if option is float and isinstance(value, float):
        return True, value
    if option in (int, float) or _is_tuple(option):
        return False, value
    # Which text of several it is, the section checks.
    return isinstance(value, str if typing.get_origin(option) is Literal else option), value


def _is_tuple(option: Any) -> bool:
    return typing.get_origin(option) is tuple


def _has_length(option: Any, value: Sized) -> bool:
    """Whether it has as many entries as the option names, if it says how many."""
    kinds = typing.get_args(option)
    return kinds[-1] is Ellipsis or len(value) == len(kinds)


def _is_whole(value: Any) -> bool:
    # Integers of any size: as floats, those beyond 1e308 have no value.
    return _is_number(value) and (isinstance(value, Integral) or float(value).is_integer())


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def _words(option: Any) -> str:
    if typing.get_origin(option) is Literal:
        return f"one of {', '.join(map(repr, typing.get_args(option)))}"
    if option == tuple[str, ...]:
        return "names, such as ('my_module:MyOwn',)"
    names = {
        Keywords: "a dictionary",
        int: "a whole number",
        float: "a number",
        bool: "True or False",
        types.NoneType: "None",
    }
    if _is_tuple(option):
        return "whole numbers, such as (64, 64)"
    return names.get(option, "a text")
