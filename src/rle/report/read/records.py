"""Finding runs below a folder, and what a report needs to know of each."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from rle.checks import LARGEST, require
from rle.errors import UsageError
from rle.renamed import present_metrics
from rle.report.read.lines import (
    doubtful_episodes,
    last_lines,
    lines_after,
    scores_of,
    thinned_lines,
)
from rle.report.read.settings import Settings, origin_of, planned_steps, read_settings
from rle.report.read.words import is_fourroom, judged_by, plain_text, steps_text
from rle.runs.directory import EPISODES, METRICS, RunDirectory, require_folder
from rle.runs.files import DamagedFileError
from rle.runs.listing import run_folders
from rle.runs.logs import WINDOW

UNREADABLE = (OSError, ValueError, TypeError, LookupError, AttributeError, ArithmeticError)
"""What is raised by files that hold something else than they should."""
FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
Curve = tuple[FloatArray, FloatArray]
"""Steps and values."""

MAIN_CURVES = ("coverage", "visitation_entropy", "score")
"""The metrics that have figures of their own."""
END_SHARE = 0.1
"""The end of a run: the last tenth of its steps."""


@dataclass(frozen=True, eq=False)
class RunRecord:
    """One run, reduced to what a report shows."""

    directory: RunDirectory
    name: str
    """Its folder, as seen from the folder reported on."""
    task: str
    explore: str
    seed: int
    settings: Settings
    meta: dict[str, Any]
    step: int
    """Steps made."""
    finished: bool
    curves: dict[str, Curve]
    """Every number that was recorded over steps, by its name, thinned; values may be NaN."""
    rate: float | None
    """Steps per second; None before the run is finished."""
    success: float | None
    """Share of the episodes that ended in the last tenth of the steps and reached the goal; None of
    tasks without one."""
    score: float | None
    """Mean score of the last 128 training episodes; NaN or infinite if one of them is. None in grid
    worlds, and before an episode has ended."""
    checkpoints: tuple[int, ...]
    """Steps at which the agent can be loaded, ascending."""
    artefacts: tuple[int, ...]
    """Steps at which the suite's own data were recorded."""
    notes: tuple[str, ...]
    """What a reader must know about this run; sentences without the run's name."""

    @property
    def result(self) -> float | None:
        """What the task is judged by, at the end."""
        judged = judged_by(self.task)
        if judged == "coverage":
            return self.final("coverage")
        return self.success if judged == "success" else self.score

    def final(self, key: str) -> float | None:
        """The last finite value of a curve, None if there is none."""
        if key not in self.curves:
            return None
        values = self.curves[key][1]
        finite = values[np.isfinite(values)]
        return float(finite[-1]) if len(finite) else None


def find_runs(paths: Sequence[Path]) -> list[tuple[Path, str]]:
    """Every run directory at or below `paths`, once, with the name it is shown under."""
    found: dict[Path, tuple[Path, str]] = {}
    for root in paths:
        require_folder(root)
        for folder in run_folders(root):
            relative = folder.relative_to(root).as_posix()
            name = folder.resolve().name if relative == "." else relative
            if len(paths) > 1 and relative != ".":
                name = f"{root.name}/{relative}"
            found.setdefault(folder.resolve(), (folder, plain_text(name)))
    require(
        bool(found),
        f"there is no run below {', '.join(map(str, paths))}: "
        "give a folder that `rle train` or `rle study` wrote.",
    )
    return list(found.values())


def read_run(path: Path, name: str) -> RunRecord:
    """Read one run directory; raises `UsageError` if it is damaged."""
    directory = RunDirectory.open(path)
    try:
        return _read_run(directory, name)
    except UsageError:
        raise
    except (*UNREADABLE, RecursionError) as error:
        raise UsageError(f"{path} is damaged ({error!r}).") from error


def _read_run(directory: RunDirectory, name: str) -> RunRecord:
    meta = directory.meta()
    settings = read_settings(directory.settings(), meta)
    task, total = str(settings["task"]), planned_steps(settings)
    curves, last, notes = _read_metrics(directory.path)
    notes += [*directory.problems(), *(str(each.get("what")) for each in directory.incidents())]
    notes += [f"the checkpoint at step {lost:,} is gone." for lost in directory.lost_checkpoints()]
    notes += doubtful_episodes(directory.path)
    finished = directory.finished()
    step = int(last.get("step", 0))
    score = None if is_fourroom(task) else score_at_end(directory.path / EPISODES)
    if score is not None and not math.isfinite(score):
        notes.append("the score of its last episodes is NaN or infinite and cannot be averaged.")
    checkpoints, artefacts = directory.checkpoint_steps(), directory.artefact_steps()
    if is_fourroom(task):  # Of others, nothing in these files is shown.
        checkpoints = _good_ones(directory.check_checkpoint, checkpoints, "checkpoint", notes)
        artefacts = _good_ones(directory.check_artefacts, artefacts, "map of visits", notes)
    origin = origin_of(meta)
    if origin is not None:
        notes.append(f"began with the agent of {origin['run']}@{origin['step']}.")
    if finished is None:
        notes.append(f"not finished: {steps_text(step)} of {steps_text(total)} steps so far.")
    return RunRecord(
        directory=directory,
        name=name,
        task=task,
        explore=str(settings["explore"]),
        seed=int(settings["seed"]),
        settings=settings,
        meta=meta,
        step=step,
        finished=finished is not None,
        curves=curves,
        rate=_number(finished, "steps_per_second"),
        success=_success(directory.path / EPISODES, task, step),
        score=score,
        checkpoints=tuple(checkpoints),
        artefacts=tuple(artefacts),
        notes=tuple(notes),
    )


def _success(path: Path, task: str, step: int) -> float | None:
    return success_at_end(path, step) if judged_by(task) == "success" else None


def _number(values: dict[str, Any] | None, key: str) -> float | None:
    found = (values or {}).get(key)
    return float(found) if isinstance(found, int | float) and abs(found) <= LARGEST else None


def _good_ones(
    check: Callable[[int], None], steps: list[int], what: str, notes: list[str]
) -> list[int]:
    """Those of `steps` whose files are as they were written; all if none is, to be complained about."""
    good = []
    for step in steps:
        try:
            check(step)
            good.append(step)
        except DamagedFileError as error:
            notes.append(f"the {what} at step {step:,} is damaged ({error.why}) and left out.")
    return good or steps


def _read_metrics(path: Path) -> tuple[dict[str, Curve], dict[str, Any], list[str]]:
    """The curves, the last object, and what is wrong with them."""
    found = thinned_lines(path / METRICS)
    require(
        bool(found.lines) or not found.damaged, f"{path / METRICS} has no line left to be read."
    )
    lines = [present_metrics(line) for line in found.lines]
    last = lines[-1] if lines else {}
    notes = []
    if not last:
        notes.append("has no metrics yet.")
    if found.damaged:
        notes.append(f"{found.damaged} lines of {METRICS} are damaged and left out.")
    if found.cut_short:
        notes.append(f"the last line of {METRICS} is cut short and left out.")
    curves = _curves(lines)
    for key in MAIN_CURVES:
        values = curves[key][1] if key in curves else np.zeros(0)
        bad = int(np.sum(~np.isfinite(values)))
        if bad:
            notes.append(
                f"{bad} of {len(values)} recorded values of {key} are NaN or infinite and left out."
            )
    broken = [
        key
        for key, value in last.items()
        if isinstance(value, float) and not math.isfinite(value) and key not in MAIN_CURVES
    ]
    if broken:
        notes.append(f"ended with NaN or infinite {', '.join(broken)}: the training broke down.")
    return curves, last, notes


def _curves(lines: list[dict[str, Any]]) -> dict[str, Curve]:
    """Steps and values of every field that holds numbers."""
    steps = np.array([line["step"] for line in lines], dtype=np.float64)
    curves = {}
    for key in dict.fromkeys(key for line in lines for key in line):
        found = [line.get(key) for line in lines]
        kept = [isinstance(value, int | float) for value in found]
        if all(kept):
            # Most fields are in every line: their curves share one array of steps.
            curves[key] = (steps, np.array(found, dtype=np.float64))
        elif any(kept):
            values = [value for value, keep in zip(found, kept, strict=True) if keep]
            curves[key] = (steps[kept], np.array(values, dtype=np.float64))
    return curves


def success_at_end(path: Path, steps: int) -> float | None:
    """Share of the episodes that reached the goal, of those that ended in the last tenth.

    None if no episode ended there.
    """
    ended = [score > 0 for score in scores_of(lines_after(path, (1 - END_SHARE) * steps))]
    return sum(ended) / len(ended) if ended else None


def score_at_end(path: Path) -> float | None:
    """Mean score of the last 128 episodes, the rule of the paper's Atari table; None without any.

    Where fewer have ended, of these. Scores are of whole games, unclipped.
    """
    scores = scores_of(last_lines(path, WINDOW))
    return float(np.mean(scores)) if scores else None
