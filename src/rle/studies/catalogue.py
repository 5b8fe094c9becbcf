"""Every study by name, with what it would cost here."""

from __future__ import annotations

import dataclasses
import warnings
from pathlib import Path

from rle.checks import nearest
from rle.errors import UsageError
from rle.machine import cores
from rle.modules import installed, load_all_installed, load_installed, load_named
from rle.presets import default_preset
from rle.renamed import RENAMED_STUDIES, notice
from rle.runs.rates import recorded_rate
from rle.studies.definitions import Study
from rle.studies.files import SUFFIX, read_study
from rle.studies.registry import STUDIES

# Importing them makes their studies known, in the order in which they are listed.
from rle.studies import fourroom, gym  # isort: skip  # noqa: F401
from rle.studies import atari, control, sparse  # isort: skip  # noqa: F401

ENTRY_POINTS = "rle.studies"
"""The group in which installed packages name studies of theirs."""


def study_names() -> dict[str, str]:
    """Every study with one line about it: runs, steps, and hours on this machine."""
    names = {name: _line(study) for name, study in STUDIES.items()}
    for name, study in load_all_installed(ENTRY_POINTS, Study).items():
        try:
            names.setdefault(name, _line(study))
        except UsageError as error:
            warnings.warn(
                f"left out: the study {name!r} of an installed package: {error}", stacklevel=2
            )
    return names


def _line(study: Study) -> str:
    return f"{study.description} ({study.num_runs} runs of {_steps(study)} steps, {_hours(study)})"


def _steps(study: Study) -> str:
    fewest, most = (pick(map(study.steps_of, study.tasks)) for pick in (min, max))
    return f"{most:,}" if fewest == most else f"{fewest:,} to {most:,}"


def _hours(study: Study) -> str:
    """How long the whole study takes here, from the last `rle bench` of its tasks with its preset."""
    hours, judged_by = 0.0, set()
    for task in study.tasks:
        usual = default_preset(task)
        preset = study.preset or usual
        found = recorded_rate(task, preset)
        if found is None:
            option = "" if preset == usual else f" --preset {preset}"
            return f"hours unknown: `rle bench {task}{option}` measures them"
        measured, rate = found
        judged_by.add(measured)
        at_once = max(1, round(cores() / rate.cores))
        steps = study.steps_of(task) * len(study.methods) * study.seeds
        hours += steps / (rate.steps_per_second * at_once) / 3600
    text = f"about {hours:,.1f} hours here" if hours < 100 else f"about {hours:,.0f} hours here"
    if judged_by >= set(study.tasks):
        return text
    return f"{text}, judging by {', '.join(sorted(judged_by))}"


def find_study(study: str | Path | Study) -> Study:
    """A study by its name, by `module:name` of one of the user's, or by the file that declares it."""
    if isinstance(study, Study):
        return study
    if isinstance(study, Path) or study.endswith(SUFFIX):
        return read_study(Path(study))
    if study in STUDIES:
        return STUDIES[study]
    if study in RENAMED_STUDIES:
        notice(study, RENAMED_STUDIES[study])
        # Under the old name it goes on in the folder it began in.
        return dataclasses.replace(STUDIES[RENAMED_STUDIES[study]], name=study)
    if ":" in study:
        return load_named(study, f"{study} is to be a study", Study)
    if study in installed(ENTRY_POINTS):
        # Two packages may call theirs alike; this is the name it was asked for by.
        return dataclasses.replace(load_installed(ENTRY_POINTS, study, Study), name=study)
    raise UsageError(f"there is no study {study!r}: {nearest(study, STUDIES)}")
