"""Completion in shells: their scripts ask back `rle __complete WORDS`, which answers without PyTorch.

So what is offered is what there is: tasks, strategies and settings of the user's own too.
"""

from __future__ import annotations

import argparse
import contextlib
import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rle.arguments import DECLARE, Declared, Parser
from rle.checks import nearest, require
from rle.completion_scripts import FILES, SCRIPTS
from rle.config import RunConfig
from rle.declared import Setting, declared_settings
from rle.errors import UsageError
from rle.explore.registry import strategy_names
from rle.modules import FEATURE_GROUP, installed
from rle.presets import default_preset, preset_config, preset_names
from rle.runs.remote import place
from rle.studies.catalogue import find_study
from rle.studies.files import SUFFIX, named_in
from rle.studies.registry import STUDIES
from rle.tasks.registry import suite_of, task_names

Verbs = Mapping[str, Callable[[Sequence[str]], int | None]]
Candidates = dict[str, str]
"""What a word may become, each with a text about it."""

TAKE_SETTINGS = ("train", "check", "bench")
SINKS = ("tensorboard", "wandb", "trackio")
DEVICES = ("auto", "cpu", "cuda")


def script(arguments: Sequence[str]) -> str:
    """What a shell is to read, once, to complete commands."""
    require(len(arguments) == 1, f"--completion takes one of {', '.join(SCRIPTS)}.")
    shell = arguments[0]
    require(shell in SCRIPTS, f"there is no completion for {shell!r}: {nearest(shell, SCRIPTS)}")
    return SCRIPTS[shell]


def answer(words: Sequence[str], verbs: Verbs) -> str:
    """What a script is told: a line for each word that the last of `words` may become, or `FILES`."""
    *before, word = words or [""]
    # Modules of the user's may print as they are imported.
    with contextlib.redirect_stdout(io.StringIO()):
        try:
            found = _candidates(before, word, verbs)
        except UsageError:
            found = {}
    if found is None:
        return f"{FILES}\n"
    return "".join(f"{name}\t{text}\n" for name, text in found.items() if name.startswith(word))


def _candidates(before: Sequence[str], word: str, verbs: Verbs) -> Candidates | None:
    """None stands for files."""
    if not before:
        texts = {name: (verb.__doc__ or "").partition(": ")[0] for name, verb in verbs.items()}
        return texts | {"--help": "", "--version": "", "--completion": "a script for a shell"}
    verb, *given = before
    if verb == "--completion":
        return dict.fromkeys(SCRIPTS, "")
    if verb not in verbs:
        return {}
    line = _Line(verb, parser_of(verbs[verb]), given)
    name, equals, _ = word.partition("=")
    if word.startswith("--") and equals:
        found = line.values_of(name, word)
        return found and {f"{name}={value}": text for value, text in found.items()}
    return line.options() if word.startswith("-") else line.values(word)


def parser_of(verb: Callable[[Sequence[str]], int | None]) -> Parser:
    """The parser of a verb, which it makes itself."""
    try:
        verb([DECLARE])
    except Declared as found:
        return found.parser
    raise AssertionError("a verb that has no parser")


@dataclass(frozen=True)
class _Line:
    """A command line as far as it is written."""

    verb: str
    parser: Parser
    given: Sequence[str]
    """What stands between the verb and the word that is to be completed."""

    def options(self) -> Candidates:
        """Every option and setting."""
        ours = {
            name: action.help or ""
            for name, action in self.parser._option_string_actions.items()
            if name.startswith("--")
        }
        return ours | {setting.name: setting.text for setting in self._settings()}

    def values(self, word: str) -> Candidates | None:
        """What may stand at the end: a value of the option before it, or an argument without name."""
        loose = []
        option, missing = "", 0.0
        for given in self.given:
            if given.startswith("--"):
                option, _, value = given.partition("=")
                missing = 0 if value else self._takes(option)
            elif missing > 0:
                missing -= 1
            else:
                loose.append(given)
        if missing > 0:
            return self.values_of(option, word)
        arguments = [action for action in self.parser._actions if not action.option_strings]
        if len(loose) < len(arguments) or (arguments and arguments[-1].nargs == "*"):
            return self._values_of_action(arguments[min(len(loose), len(arguments) - 1)], word)
        return self.options()

    def values_of(self, option: str, word: str) -> Candidates | None:
        """The values of an option or a setting."""
        action = self.parser._option_string_actions.get(option)
        if action is not None:
            return self._values_of_action(action, word.rpartition("=")[2])
        setting = self._setting(option)
        return {} if setting is None else _values_of_setting(setting)

    def _takes(self, option: str) -> float:
        """How many values may stand after an option."""
        action = self.parser._option_string_actions.get(option)
        if action is not None:
            return {0: 0.0, "+": float("inf")}.get(action.nargs or 1, 1.0)
        setting = self._setting(option)
        return float("inf") if setting is not None and "..." in setting.form else 1.0

    def _setting(self, option: str) -> Setting | None:
        return next((found for found in self._settings() if found.name == option), None)

    def _settings(self) -> list[Setting]:
        config = self._config() if self.verb in TAKE_SETTINGS else None
        return [] if config is None else declared_settings(config)

    def _config(self) -> RunConfig | None:
        """What the task, the strategy and the preset on the line choose."""
        task = self._argument()
        if task is None:
            return None
        return preset_config(task, self._given("--explore") or "rle", self._given("--preset"))

    def _argument(self) -> str | None:
        """The task or the study, which stands first."""
        return self.given[0] if self.given and not self.given[0].startswith("-") else None

    def _given(self, option: str) -> str | None:
        """The value of an option on the line."""
        found = None
        for word, following in zip(self.given, [*self.given[1:], None], strict=True):
            name, equals, value = word.partition("=")
            if name == option:
                found = value if equals else following
        return found

    def _values_of_action(self, action: argparse.Action, word: str) -> Candidates | None:
        if action.choices is not None:
            return dict.fromkeys(map(str, action.choices), "")
        if action.type in (Path, place):
            return None
        if action.dest == "task":
            return _tasks_or_runs(word) if self.verb == "check" else _tasks(word)
        if action.dest == "explore":
            return _strategies(word)
        if action.dest == "preset":
            return self._presets()
        if action.dest == "study":
            studies = {name: study.description for name, study in STUDIES.items()}
            return studies if any(name.startswith(word) for name in studies) else None
        if action.dest in ("tasks", "methods"):
            return self._parts_of_study(action.dest)
        if action.dest == "what":
            return dict.fromkeys(("tasks", "strategies", "studies", "runs"), "")
        return {}

    def _presets(self) -> Candidates:
        task = self._argument()
        if task is None:
            return {}
        default = default_preset(task)
        return {name: "the default" if name == default else "" for name in preset_names(task)}

    def _parts_of_study(self, kind: str) -> Candidates:
        name = self._argument()
        if name is None:
            return {}
        if name.endswith(SUFFIX):
            return dict.fromkeys(named_in(Path(name), kind), "")
        study = find_study(name)
        parts = study.tasks if kind == "tasks" else [method.name for method in study.methods]
        return dict.fromkeys(parts, "")


def _tasks(word: str) -> Candidates:
    """Tasks by their names; of suites, what stands before the slash until it is written."""
    head, slash, _ = word.partition("/")
    if slash:
        suite, _ = suite_of(word)
        return {f"{head}/{name}": suite.tasks.get(name, "") for name in suite.known_names()}
    found: Candidates = {}
    for name, text in task_names().items():
        suite_name, slash, _ = name.partition("/")
        found.setdefault(f"{suite_name}{slash}", text)
    return found


def _tasks_or_runs(word: str) -> Candidates | None:
    """Tasks; files where no task begins like that, since it may be the path of a run."""
    try:
        found = _tasks(word)
    except UsageError:
        return None
    return found if any(name.startswith(word) for name in found) else None


def _strategies(word: str) -> Candidates:
    """Strategies, each after those of a mixture that are written already."""
    written, plus, _ = word.rpartition("+")
    # Of these no mixture is made.
    taken = {*written.split("+"), "none", "random"} if plus else set()
    return {
        f"{written}{plus}{name}": text
        for name, text in strategy_names().items()
        if name not in taken
    }


def _values_of_setting(setting: Setting) -> Candidates:
    more: Mapping[tuple[str, ...], Sequence[str]] = {
        ("machine", "device"): DEVICES,
        ("machine", "sinks"): (*SINKS, *installed("rle.sinks")),
        ("rle", "feature_network"): tuple(installed(FEATURE_GROUP)),
    }
    return dict.fromkeys([*setting.choices, *more.get(setting.path, ())], "")
