"""Every study by name, with what it would cost here."""

from __future__ import annotations

from rle.checks import nearest
from rle.errors import UsageError
from rle.machine import cores
from rle.presets import default_preset
from rle.runs.rates import recorded_rate
from rle.studies.atari import ATARI_STUDIES
from rle.studies.control import CONTROL_STUDIES
from rle.studies.definitions import Study
from rle.studies.fourroom import FOURROOM_STUDIES
from rle.studies.gym import GYM_STUDIES

STUDIES: dict[str, Study] = {
    study.name: study
    for study in (*FOURROOM_STUDIES, *GYM_STUDIES, *ATARI_STUDIES, *CONTROL_STUDIES)
}


def study_names() -> dict[str, str]:
    """Every study with one line about it: runs, steps, and hours on this machine."""
    return {
        study.name: f"{study.description} ({study.num_runs} runs of {_steps(study)} steps, "
        f"{_hours(study)})"
        for study in STUDIES.values()
    }


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


def find_study(name: str) -> Study:
    """The study called `name`."""
    if name not in STUDIES:
        raise UsageError(f"there is no study {name!r}: {nearest(name, STUDIES)}")
    return STUDIES[name]
