"""Every setting as it is declared: its name, its value, what it may be, and the text below its field."""

from __future__ import annotations

import ast
import inspect
import json
import textwrap
import types
import typing
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, Union

from rle.config import RunConfig
from rle.modules import DISTRIBUTION_GROUP, installed
from rle.own import SOURCE, own_strategy
from rle.settings import paths_in_use, shortest_name
from rle.values import Keywords


@dataclass(frozen=True)
class Setting:
    """One setting of a configuration."""

    path: tuple[str, ...]
    """As `locate` has it."""
    value: Any
    hint: Any
    text: str
    """What it does."""

    @property
    def name(self) -> str:
        """How it is called on the command line."""
        return f"--{shortest_name(self.path)}"

    @property
    def choices(self) -> list[str]:
        """The values that can be listed; others may be possible."""
        listed = [str(choice) for kind in _kinds(self.hint) for choice in _listed(kind)]
        if self.path == ("rle", "distribution"):
            listed += installed(DISTRIBUTION_GROUP)
        return listed

    @property
    def form(self) -> str:
        """What a value looks like: `N`, `tanh|relu|elu`, `None|N...`."""
        kinds = _kinds(self.hint)
        # That a number may also be None goes last in the declaration, and first here.
        return "|".join(map(_form, sorted(kinds, key=lambda kind: kind is not types.NoneType)))

    @property
    def written(self) -> str:
        """The value, as one would write it on the command line."""
        return _written(self.value)


def declared_settings(config: RunConfig) -> list[Setting]:
    """The settings of `config`, without those of strategies that it does not use."""
    return [_setting(config, path) for path in paths_in_use(config)]


def section_text(config: RunConfig, section: str) -> str:
    """One line about a section of settings."""
    return _first_line(_section_of(config, section)[0])


def _setting(config: RunConfig, path: list[str]) -> Setting:
    *sections, key = path
    kind, values = _section_of(config, sections[-1]) if sections else (RunConfig, vars(config))
    hint = typing.get_type_hints(kind)[key]
    texts = field_texts(kind)  # type: ignore[arg-type]
    return Setting(tuple(path), values[key], hint, texts.get(key, ""))


def _section_of(config: RunConfig, section: str) -> tuple[type[Any], Mapping[str, Any]]:
    """The class that declares a section, and the values of its fields."""
    held = (config.own or {}).get(section)
    if held is None:
        return type(getattr(config, section)), vars(getattr(config, section))
    strategy = own_strategy(str(held[SOURCE]))
    assert strategy is not None
    assert strategy.settings is not None
    return strategy.settings, vars(strategy.settings_from(held))


def _first_line(kind: type[Any]) -> str:
    text = inspect.cleandoc(kind.__doc__ or "").partition("\n\n")[0]
    # A dataclass without a text of its own is given its signature.
    return "" if text.startswith(f"{kind.__name__}(") else " ".join(text.split())


@cache
def field_texts(kind: type[Any]) -> dict[str, str]:
    """The text below each field of a class, inherited ones included; none where there is no source."""
    texts: dict[str, str] = {}
    for base in reversed(kind.__mro__[:-1]):
        try:
            source = textwrap.dedent(inspect.getsource(base))
        except (OSError, TypeError):
            continue
        (declaration,) = ast.parse(source).body
        assert isinstance(declaration, ast.ClassDef)
        for field, below in zip(declaration.body, declaration.body[1:], strict=False):
            if (
                isinstance(field, ast.AnnAssign)
                and isinstance(field.target, ast.Name)
                and isinstance(below, ast.Expr)
                and isinstance(below.value, ast.Constant)
                and isinstance(below.value.value, str)
            ):
                texts[field.target.id] = " ".join(below.value.value.split())
    return texts


def _kinds(hint: Any) -> tuple[Any, ...]:
    return typing.get_args(hint) if typing.get_origin(hint) in (Union, types.UnionType) else (hint,)


def _listed(kind: Any) -> tuple[Any, ...]:
    if typing.get_origin(kind) is Literal:
        return typing.get_args(kind)
    return {bool: (True, False), types.NoneType: (None,)}.get(kind, ())


def _form(kind: Any) -> str:
    if listed := _listed(kind):
        return "|".join(map(str, listed))
    if typing.get_origin(kind) is tuple:
        first, *others = typing.get_args(kind)
        return f"{_form(first)}..." if others == [...] else " ".join(map(_form, (first, *others)))
    return {int: "N", float: "X", Keywords: "JSON"}.get(kind, "NAME")


def _written(value: Any) -> str:
    if isinstance(value, tuple):
        return " ".join(map(_written, value)) or "empty"
    if isinstance(value, Mapping):
        return json.dumps(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:_}" if value >= 10_000 else str(value)
    return str(value)
