"""A suite over training: its aggregates from moment to moment, and who gets there how soon."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from rle.report.measure.curves import finite_curves
from rle.report.measure.suites import CAPPED, MEAN, SuiteResults
from rle.report.read.methods import Method
from rle.report.read.words import judged_by
from rle.stats import (
    AGGREGATES,
    Band,
    Bootstrap,
    aggregate_curve,
    align_curves,
    capped_human_normalised,
    mean,
)

POINTS = 81


@dataclass(frozen=True, eq=False)
class Training:
    """One aggregate over the training of all tasks."""

    key: str
    """Of the aggregate, in `suites.LABELS`."""
    lengths: Mapping[str, int]
    """Steps of the whole training, by task."""
    bands: Mapping[str, Band]
    """By method; the grid is the share of each task's training, 1 at its end."""
    notes: tuple[str, ...]

    @property
    def steps(self) -> int | None:
        """Steps of the whole training, if they are the same on every task."""
        lengths = set(self.lengths.values())
        return lengths.pop() if len(lengths) == 1 else None


def over_training(results: SuiteResults, bootstrap: Bootstrap) -> list[Training]:
    """The aggregates that have figures."""
    shown = results.scale.shown if results.normalised else ()
    return [_training(results, key, bootstrap) for key in shown]


def _training(results: SuiteResults, key: str, bootstrap: Bootstrap) -> Training:
    """An aggregate of every method that has curves, with a sentence about every other one."""
    lengths = results.suite.lengths(results.averaged)
    bands, notes = {}, []
    for label in results.normalised:
        band = _curve(results, label, key, lengths, bootstrap)
        if isinstance(band, str):
            notes.append(band)
        else:
            bands[label] = band
            notes += band.notes
    return Training(key, lengths, bands, tuple(dict.fromkeys(notes)))


def _curve(
    results: SuiteResults, label: str, key: str, lengths: Mapping[str, int], bootstrap: Bootstrap
) -> Band | str:
    """The aggregate of one method, or a sentence why there is none.

    At each point all tasks are equally far in their training, whatever its length. The curve ends
    where the first task's longest run ends, so that no task's last value stands for training that
    never took place.
    """
    methods = results.suite.methods(label)
    curves = {
        task: [
            (steps / lengths[task], values)
            for steps, values in finite_curves(methods[task], _curve_key(methods[task]))
        ]
        for task in results.averaged
    }
    absent = [task for task, found in curves.items() if not found]
    if absent:
        return f"{label} has no curve: nothing was recorded on {', '.join(absent)}."
    start = max(at[0] for found in curves.values() for at, _ in found)
    end = min(max(at[-1] for at, _ in found) for found in curves.values())
    if start >= end:
        return f"{label} has no curve: its tasks have fewer than two recorded steps in common."
    aligned = align_curves(label, curves, np.linspace(start, end, POINTS))
    if aligned.notes:
        early = (
            f"{label}: some runs end before others of their task; their last value is carried on."
        )
        aligned = replace(aligned, notes=(early,))
    if key == CAPPED:
        return aggregate_curve(mean, capped_human_normalised(aligned), bootstrap, (0.0, 1.0))
    bounds = results.scale.bounds if key == MEAN else None
    return aggregate_curve(AGGREGATES[key], results.scale.normalise(aligned), bootstrap, bounds)


def _curve_key(method: Method) -> str:
    """The metric that is the result of a method's runs from moment to moment."""
    return "coverage" if judged_by(method.runs[0].task) == "coverage" else "score"


@dataclass(frozen=True)
class Reached:
    """When a method was first as good as the next best one is at the end."""

    method: str
    rival: str
    level: float
    """What the rival ends with."""
    share: float
    """Of the training of each task."""


def reached(bands: Mapping[str, Band]) -> list[Reached]:
    """One entry for every method but the last, the best at the end first."""
    ranked = sorted(bands, key=lambda label: -bands[label].point[-1])
    found = []
    for label, rival in pairwise(ranked):
        level = float(bands[rival].point[-1])
        there = int(np.argmax(bands[label].point >= level))
        found.append(Reached(label, rival, level, float(bands[label].grid[there])))
    return found
