"""The help of `rle train TASK`: every setting, with its value for this task, strategy and preset."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence

from rle.arguments import Parser
from rle.config import RunConfig
from rle.declared import Setting, declared_settings, section_text
from rle.idle import idle_settings
from rle.terminal import Entry, Section, page

COMMON = (
    "total_steps",
    "seed",
    "environment.num_envs",
    "machine.device",
    "machine.compile",
    "machine.checkpoint_every",
    "machine.sinks",
    "learner.learning_rate",
    "learner.rollout_steps",
    "learner.epochs",
    "learner.minibatches",
    "learner.discount",
    "learner.entropy_coefficient",
    "learner.task_coefficient",
    "rle.coefficient",
    "rle.dimension",
    "rle.resample_every",
    "rle.distribution",
    "rnd.coefficient",
)
"""What people change most, by dotted name, in the order in which it is shown."""

BARE = ("learner", "environment", "network", "machine")
"""Sections that every run has."""


def print_settings(parser: Parser, config: RunConfig) -> None:
    """Print the options of `parser`, and the settings of `config`, on one page."""
    idle = idle_settings(config)
    settings = declared_settings(config)
    useful = [setting for setting in settings if ".".join(setting.path) not in idle]
    useless = [setting.name for setting in settings if setting not in useful]
    print(
        page(
            f"{parser.prog} TASK [--SETTING VALUE]...",
            f"{parser.description} The defaults below are those of `{parser.prog} {config.task} "
            f"--explore {config.explore} --preset {config.preset}`. N stands for a whole number, X "
            "for a number, and dots for several with spaces between them.",
            [*_common(parser, useful), *_sections(config, useful)],
            sys.stdout,
            _idle_words(useless),
        ),
        end="",
    )


def _common(parser: Parser, settings: Iterable[Setting]) -> list[Section]:
    by_name = {".".join(setting.path): setting for setting in settings}
    most_used = [_entry(by_name[name]) for name in COMMON if name in by_name]
    return [Section("Most used", [*parser.entries(), *most_used])]


def _sections(config: RunConfig, settings: Sequence[Setting]) -> list[Section]:
    """All that is not most used, by section, those of strategies first."""
    entries: dict[str, list[Entry]] = {}
    for setting in settings:
        if ".".join(setting.path) not in COMMON:
            entries.setdefault(setting.path[-2], []).append(_entry(setting))
    titles = {section: section.replace("_", "-") for section in entries if section not in BARE}
    titles |= {section: section.capitalize() for section in BARE if section in entries}
    return [
        Section(title, entries[section], section_text(config, section))
        for section, title in titles.items()
    ]


def _entry(setting: Setting) -> Entry:
    text = setting.text.removesuffix(".")
    default = f"(default: {setting.written})"
    return Entry(f"{setting.name} {setting.form}", f"{text} {default}".strip())


def _idle_words(names: Sequence[str]) -> str:
    if not names:
        return ""
    return (
        f"Beside these values, the following would do nothing, and are refused with the reason: "
        f"{', '.join(names)}."
    )
