"""What stands on the command line: settings by name, and one sentence for each mistake."""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import io
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TextIO

import tyro

from rle.checks import closest, require, short
from rle.config import RunConfig
from rle.errors import UsageError
from rle.own import SOURCE, own_strategy
from rle.settings import in_present_words, locate, shortest_name
from rle.terminal import Entry, Section, page

DECLARE = "\0declare"
"""An argument that no shell can give: the parser that meets it is handed over instead of used."""


class Declared(Exception):  # noqa: N818
    """A parser, to look at the options it declares."""

    def __init__(self, parser: Parser) -> None:
        self.parser = parser


class Parser(argparse.ArgumentParser):
    """Complains with a `UsageError`, and shows its help as pages of `rle.terminal`."""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        if args is not None and DECLARE in args:
            raise Declared(self)
        for argument in args or ():
            # Which argparse would take for the end of all options, and for no value at all.
            if argument.startswith("--") and argument.endswith("=--"):
                raise UsageError(f"{argument.removesuffix('=--')} is '--', which is no value.")
        return super().parse_known_args(args, namespace)

    def print_help(self, file: Any = None) -> None:
        stream = file or sys.stdout
        stream.write(self.help_page(stream))

    def help_page(self, stream: TextIO, last: str = "") -> str:
        """The page of help, for `stream`."""
        given = " ".join(_form(action) for action in self._actions if not action.option_strings)
        usage = f"{self.prog} {given} [options]".replace("  ", " ")
        sections = [Section("Arguments", [*self.entries(), Entry("-h, --help", "Show this page")])]
        return page(usage, self.description or "", sections, stream, last)

    def entries(self) -> list[Entry]:
        """What may be given, what has no name first; without `--help`."""
        actions = sorted(self._actions, key=lambda action: bool(action.option_strings))
        return [_entry(action) for action in actions if action.dest != "help"]

    def error(self, message: str) -> None:  # type: ignore[override]
        unknown = re.match(r"unrecognized arguments: (-\S+)", message)
        meant = closest(unknown[1], self._option_string_actions) if unknown else None
        if unknown and meant is not None:
            raise UsageError(f"there is no option {unknown[1]!r}: did you mean {meant!r}?")
        raise UsageError(f"{message}; see `{self.prog} --help`.")


def _entry(action: argparse.Action) -> Entry:
    name = " ".join([*action.option_strings, _form(action)]).strip()
    text = action.help or ""
    # None, False and nothing are no values: what happens then is in the text.
    if action.default is not False and action.default not in (None, (), []):
        text = f"{text} (default: {action.default})"
    return Entry(name, f"{text[:1].upper()}{text[1:]}")


def _form(action: argparse.Action) -> str:
    """What stands for the value of an option, or for an argument without a name."""
    if action.nargs == 0:
        return ""
    kinds = {int: "N", whole_number: "N", float: "X", Path: "FOLDER"}
    if isinstance(action.metavar, str):
        form = action.metavar
    elif action.choices is not None:
        form = "|".join(map(str, action.choices))
    elif action.option_strings:
        form = kinds.get(action.type, "NAME")
    else:
        form = action.dest.upper()
    several = "..." if action.nargs in ("+", "*") else ""
    optional = action.nargs == "*" or (action.nargs == "?" and action.default is not None)
    return f"[{form}{several}]" if optional else f"{form}{several}"


def whole_number(text: str) -> int:
    """The number that an option of a `Parser` is given, in any of the ways people write it."""
    try:
        return int(_as_python_has_it(text))
    except ValueError:
        raise argparse.ArgumentTypeError(f"{short(repr(text))} is no whole number") from None


def task_first(
    parser: Parser, arguments: Sequence[str], is_task: Callable[[str], bool]
) -> list[str]:
    """`--seed 3 fourroom` as `fourroom --seed 3`: what settings there are depends on the task."""
    if not arguments or not arguments[0].startswith("--"):
        return list(arguments)
    takes_value = False
    for index, argument in enumerate(arguments):
        if argument.startswith("--"):
            action = parser._option_string_actions.get(argument)
            takes_value = "=" not in argument and (action is None or action.nargs != 0)
        elif not takes_value and is_task(argument):
            return [argument, *arguments[:index], *arguments[index + 1 :]]
        else:
            takes_value = False
    first = arguments[0].partition("=")[0]
    # Of --task, and of a line without any task, is complained elsewhere.
    if first not in ("--task", *parser._option_string_actions) and not _all_options(arguments):
        raise UsageError(f"the task comes before its settings: {parser.prog} TASK {first} ...")
    return list(arguments)


def _all_options(arguments: Sequence[str]) -> bool:
    return all(argument.startswith("-") for argument in arguments)


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
    except SystemExit:
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
    if not argument.startswith("--"):
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
    words = re.sub(r"\x1b\[[\d;]*m", "", box)  # On a terminal, tyro colours it.
    words = re.sub(r"[│╭╮╰╯─]|-{10,}", " ", words)
    words = re.sub(r"\s+", " ", words).partition("For full helptext")[0]
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
