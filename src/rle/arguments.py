"""What stands on the command line: settings by name, and one sentence for each mistake."""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import io
import re
from collections.abc import Callable, Sequence
from typing import Any

import tyro

from rle.checks import closest, require
from rle.config import RunConfig
from rle.errors import UsageError
from rle.own import SOURCE, own_strategy
from rle.settings import in_present_words, locate, shortest_name


class Parser(argparse.ArgumentParser):
    """Complains with a `UsageError`."""

    def error(self, message: str) -> None:  # type: ignore[override]
        unknown = re.match(r"unrecognized arguments: (-\S+)", message)
        meant = closest(unknown[1], self._option_string_actions) if unknown else None
        if unknown and meant is not None:
            raise UsageError(f"there is no option {unknown[1]!r}: did you mean {meant!r}?")
        raise UsageError(f"{message}; see `{self.prog} --help`.")


def whole_number(text: str) -> int:
    """The number that an option of a `Parser` is given, in any of the ways people write it."""
    return int(_as_python_has_it(text))


def with_settings(default: RunConfig, arguments: Sequence[str]) -> RunConfig:
    """`default` with the settings on the command line changed."""
    arguments = [_normal_form(default, argument) for argument in arguments]
    complaint = io.StringIO()
    try:
        with contextlib.redirect_stderr(complaint):
            complete = _with_own_sections(default)
            given = tyro.cli(
                type(complete),
                prog="rle train TASK",
                default=complete,
                args=arguments,
                config=(tyro.conf.AvoidSubcommands, tyro.conf.FlagConversionOff),
            )
            return _without_own_sections(given)
    except SystemExit as stop:
        if stop.code in (0, None):
            raise
        raise UsageError(_one_sentence(complaint.getvalue())) from None


def _with_own_sections(config: RunConfig) -> RunConfig:
    """`config` with the settings of every strategy of the user's as a section like ours."""
    sections = {}
    for name, held in (config.own or {}).items():
        strategy = own_strategy(str(held[SOURCE]))
        settings = None if strategy is None else strategy.settings_from(held)
        if settings is not None:
            sections[name] = settings
    if not sections:
        return config
    fields = [
        (name, type(part), dataclasses.field(default=part)) for name, part in sections.items()
    ]
    kind = dataclasses.make_dataclass("RunConfig", fields, bases=(RunConfig,), frozen=True)
    return kind(**_fields(config))


def _without_own_sections(config: RunConfig) -> RunConfig:
    """The inverse of `_with_own_sections`, with what has changed."""
    own = {
        name: {SOURCE: held[SOURCE]} | _fields(getattr(config, name, None))
        for name, held in (config.own or {}).items()
    }
    ours = {field.name: getattr(config, field.name) for field in dataclasses.fields(RunConfig)}
    return RunConfig(**(ours | {"own": own or None}))


def _fields(part: Any) -> dict[str, Any]:
    return {} if part is None else {f.name: getattr(part, f.name) for f in dataclasses.fields(part)}


def named(arguments: Sequence[str]) -> list[str]:
    """The settings that are named on the command line."""
    return [argument.partition("=")[0] for argument in arguments if argument.startswith("--")]


def _normal_form(config: RunConfig, argument: str) -> str:
    """`--ppo.epochs=1e1` as `--epochs=10`; what is no setting's name is a value."""
    if not argument.startswith("--") or argument == "--help":
        return _as_python_has_it(argument)
    name, equals, value = argument.partition("=")
    (name,) = in_present_words({name: value})
    path = locate(config, name)
    require(path != ["task"], "the task comes without --task: rle train TASK.")
    return f"--{shortest_name(path)}{equals}{_as_python_has_it(value)}"


def _as_python_has_it(value: str) -> str:
    """`1e6` as 1000000 and `true` as True; everything else as it is."""
    if value.lower() in ("true", "false"):
        return value.capitalize()
    if re.fullmatch(r"\d+(\.\d+)?e\+?\d+", value.lower()) and float(value).is_integer():
        return str(int(float(value)))
    return value


def _one_sentence(box: str) -> str:
    """What an error box of tyro says, in our words where we know it."""
    words = re.sub(r"\s+", " ", re.sub(r"[│╭╮╰╯─]", " ", box)).partition("For full helptext")[0]
    for pattern, sentence in _COMPLAINTS:
        found = re.search(pattern, words)
        if found:
            return sentence(found)
    return words.strip()


def _kind(metavar: str) -> str:
    for shape, name in (
        (r"\{?\[INT \[INT \.\.\.\]\]\}?", "whole numbers with spaces between them"),
        ("INT", "a whole number"),
        ("FLOAT", "a number"),
        (r"\{None\}\|", "None or "),
    ):
        metavar = re.sub(shape, name, metavar)
    return metavar


_COMPLAINTS: tuple[tuple[str, Callable[[re.Match[str]], str]], ...] = (
    (r"Error parsing \S+: (env-kwargs is .*?) Argument helptext", lambda found: found[1]),
    (
        r"Error parsing (\S+): .*?'(.*?)'.* Argument helptext: \S+ (\S*\[INT \[INT \.\.\.\]\]\S*|\S+) ",
        lambda found: f"{found[1]} is {found[2]!r}: give {_kind(found[3])}.",
    ),
    # The configuration's own complaint.
    (r"Error parsing \S+: (.*)", lambda found: found[1].strip()),
    (
        r"invalid choice (.+) for argument '(.+)'\. Expected one of \((.+)\)",
        lambda found: f"{found[2]} is {found[1]}: choose one of {found[3]}.",
    ),
    (
        r"Missing value for argument '(.+)'\. Expected 1 values",
        lambda found: f"{found[1]} needs a value after it.",
    ),
    (
        r"Missing value for argument '(.+)'\. Expected (\d+) values",
        lambda found: f"{found[1]} needs {found[2]} values after it.",
    ),
    (
        r"Unrecognized options: ([^,]+?),? ",
        lambda found: (
            f"{found[1]!r} is neither a setting nor a value of one: settings are written "
            "--name value."
        ),
    ),
)
"""What tyro says, and how we say it."""
