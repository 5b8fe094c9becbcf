"""Which runs belong together: suites of tasks, methods within a task, seeds within a method."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from rle.report.read.records import RunRecord
from rle.report.read.settings import (
    Settings,
    makes_a_method,
    planned_steps,
    preset_settings,
    say_settings,
)
from rle.report.read.words import short_name, steps_text, suite_of
from rle.stats import Scores

STRATEGY_LABELS = {
    "rle": "RLE",
    "none": "PPO",
    "rnd": "RND",
    "noisy": "NoisyNet",
    "white-noise": "White noise",
    "random": "Random actions",
}
"""What a strategy is called in figures; also the order in which methods are shown."""


@dataclass(frozen=True, eq=False)
class Method:
    """Runs that differ in nothing but their seed."""

    label: str
    explore: str
    runs: tuple[RunRecord, ...]
    """By seed, one run each."""
    unchanged: bool = False
    """Whether it has its preset's value wherever methods of its strategy differ."""

    @property
    def settings(self) -> Settings:
        """What its runs have in common."""
        return {key: value for key, value in self.runs[0].settings.items() if makes_a_method(key)}

    @property
    def steps(self) -> int:
        """Steps made by the run that made most."""
        return max(run.step for run in self.runs)


@dataclass(frozen=True, eq=False)
class TaskGroup:
    """All methods of one task."""

    task: str
    methods: tuple[Method, ...]
    notes: tuple[str, ...]

    @property
    def runs(self) -> list[RunRecord]:
        """All runs, method by method."""
        return [run for method in self.methods for run in method.runs]


def group_runs(records: Sequence[RunRecord]) -> list[TaskGroup]:
    """Tasks in order of name, RLE first within each."""
    tasks = sorted({record.task for record in records})
    return [_group_task(task, [r for r in records if r.task == task]) for task in tasks]


def _group_task(task: str, records: list[RunRecord]) -> TaskGroup:
    strategies = sorted({record.explore for record in records}, key=_rank)
    notes: list[str] = []
    methods: list[Method] = []
    for explore in strategies:
        runs = [record for record in records if record.explore == explore]
        for label, members, unchanged in _split(explore, runs):
            seeds = _one_per_seed(label, members, notes)
            methods.append(Method(label, explore, seeds, unchanged))
    return TaskGroup(task, tuple(methods), tuple(notes + _unequal(methods)))


def _rank(explore: str) -> tuple[int, str]:
    order = list(STRATEGY_LABELS)
    return (order.index(explore) if explore in order else len(order), explore)


def strategy_label(explore: str) -> str:
    """A strategy's name in figures; mixtures are sums."""
    return " + ".join(STRATEGY_LABELS.get(name, name) for name in explore.split("+"))


def reference_of(methods: Sequence[Method], explore: str = "rle") -> Method | None:
    """The RLE (PPO, ...) that others are compared with: the unchanged one if there is, or the first."""
    candidates = [method for method in methods if method.explore == explore]
    return next((m for m in candidates if m.unchanged), candidates[0] if candidates else None)


def _split(explore: str, runs: list[RunRecord]) -> list[tuple[str, list[RunRecord], bool]]:
    """Runs of one strategy by their settings, with labels that tell the settings apart.

    If one setting varies, every label has its value. If several do, a label has those that deviate
    from the preset's value, or from the commonest if no run has the preset's: in a study that changes
    one thing at a time, the unchanged method is then simply called by its name.
    """
    base = strategy_label(explore)
    keys = list(dict.fromkeys(key for run in runs for key in run.settings if makes_a_method(key)))
    variants: dict[tuple[str, ...], list[RunRecord]] = {}
    for run in runs:
        variants.setdefault(tuple(repr(run.settings.get(key)) for key in keys), []).append(run)
    varying = [i for i in range(len(keys)) if len({values[i] for values in variants}) > 1]
    published = _preset_settings(runs)
    unchanged = next(
        (
            values
            for values in variants
            if published and all(values[i] == repr(published.get(keys[i])) for i in varying)
        ),
        None,
    )
    columns = zip(*variants, strict=True)
    usual = unchanged or tuple(Counter(column).most_common(1)[0][0] for column in columns)
    labelled = []
    for values, members in variants.items():
        settings = members[0].settings
        deviating = [keys[i] for i in varying if len(varying) == 1 or values[i] != usual[i]]
        said = say_settings(deviating, settings)
        labelled.append((", ".join([base, *said]), members, values == unchanged))
    labelled.sort(key=lambda item: _natural(item[0]))
    return labelled


def _preset_settings(runs: list[RunRecord]) -> Settings:
    """The settings of the runs' preset; none if they have several, or one this version lacks."""
    presets = {run.settings.get("preset") for run in runs}
    return {} if len(presets) > 1 else preset_settings(runs[0].task, runs[0].explore, *presets)


def _natural(label: str) -> list[tuple[float, str]]:
    """Sorts d=8 before d=16, and a method before its variations."""
    pieces = re.split(r"(\d+\.?\d*)", label)
    return [(float(piece), "") if i % 2 else (-1.0, piece) for i, piece in enumerate(pieces)]


def _one_per_seed(label: str, runs: list[RunRecord], notes: list[str]) -> tuple[RunRecord, ...]:
    """Two runs of one seed are one draw, not two: the longer counts, and the reader is told."""
    by_seed: dict[int, RunRecord] = {}
    for run in sorted(runs, key=lambda run: (not run.finished, -run.step)):
        kept = by_seed.setdefault(run.seed, run)
        if kept is not run:
            notes.append(
                f"{label}, seed {run.seed}: {run.name} repeats {kept.name} and is left out."
            )
    return tuple(by_seed[seed] for seed in sorted(by_seed))


def _unequal(methods: list[Method]) -> list[str]:
    """What a comparison of these methods must be read with."""
    notes = []
    seeds = {method.label: len(method.runs) for method in methods}
    if len(set(seeds.values())) > 1:
        counts = ", ".join(f"{label} {count}" for label, count in seeds.items())
        notes.append(f"The methods have different numbers of seeds: {counts}.")
    planned = {method.label: planned_steps(method.runs[0].settings) for method in methods}
    if len(set(planned.values())) > 1:
        lengths = ", ".join(f"{label} {steps_text(steps)}" for label, steps in planned.items())
        notes.append(f"The methods were trained for different numbers of steps: {lengths}.")
    single = [label for label, count in seeds.items() if count == 1]
    if single:
        notes.append(
            f"One seed only for {', '.join(single)}: no interval and no band can be given, because "
            "a single run tells nothing about how much runs differ."
        )
    for method in methods:
        for run in method.runs:
            notes.extend(f"{method.label}, seed {run.seed}: {note}" for note in run.notes)
    return notes


@dataclass(frozen=True, eq=False)
class Suite:
    """The tasks of a folder whose names begin alike, such as `atari/`."""

    name: str
    groups: tuple[TaskGroup, ...]

    @property
    def labels(self) -> list[str]:
        """Every method of any task, in the order of the figures."""
        return list(dict.fromkeys(m.label for group in self.groups for m in group.methods))

    def methods(self, label: str) -> dict[str, Method]:
        """One method, by the short name of the task."""
        return {
            short_name(group.task): method
            for group in self.groups
            for method in group.methods
            if method.label == label
        }

    def scores(self, label: str) -> Scores:
        """The results of one method on every task; a task it was not run on has none."""
        methods = self.methods(label)
        tasks = [short_name(group.task) for group in self.groups]
        runs = {task: methods[task].runs if task in methods else () for task in tasks}
        return Scores.from_runs(
            label,
            {task: [r.result for r in of if r.result is not None] for task, of in runs.items()},
        )

    def reference(self, explore: str, labels: Collection[str]) -> str | None:
        """Which of the methods called `labels` stands for a strategy in comparisons."""
        methods = [m for group in self.groups for m in group.methods if m.label in labels]
        found = reference_of(methods, explore)
        return None if found is None else found.label

    def lengths(self, tasks: Collection[str]) -> dict[str, int]:
        """The steps that each of `tasks` was to be trained for, by any of its methods."""
        return {
            short_name(group.task): max(planned_steps(run.settings) for run in group.runs)
            for group in self.groups
            if short_name(group.task) in tasks
        }


def find_suites(groups: Sequence[TaskGroup]) -> list[Suite]:
    """The suites of which a folder holds several tasks."""
    names = dict.fromkeys(suite_of(group.task) for group in groups if suite_of(group.task))
    suites = [Suite(name, tuple(g for g in groups if suite_of(g.task) == name)) for name in names]
    return [suite for suite in suites if len(suite.groups) > 1]
