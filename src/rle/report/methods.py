"""Which runs belong together: tasks, methods within a task, seeds within a method."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rle.errors import UsageError
from rle.presets import preset_config
from rle.report.records import RunRecord, flatten
from rle.report.style import steps_text
from rle.settings import shortest_name, to_dict

STRATEGY_LABELS = {
    "rle": "RLE",
    "none": "PPO",
    "rnd": "RND",
    "noisy": "NoisyNet",
    "white-noise": "White noise",
    "random": "Random actions",
}
"""What a strategy is called in figures; also the order in which methods are shown."""

# What a preset changes is in the other settings.
_NOT_A_METHOD = frozenset({"task", "explore", "seed", "preset"})


def makes_a_method(setting: str) -> bool:
    """Whether runs that differ in `setting` are of different methods; the machine's are not."""
    return setting not in _NOT_A_METHOD and not setting.startswith("machine.")


SETTING_LABELS = {
    "rle.dimension": "d",
    "rle.law": "law",
    "rle.resample_every": "S",
    "rle.feature_hidden": "φ",
    "rle.condition": "z-conditioning",
    "rle.condition_on_bonus": "previous bonus as input",
    "rle.standardise": "standardised features",
    "rle.unit_norm": "unit norm",
    "rle.separate_streams": "separate value heads",
    "rle.discount": "bonus discount",
    "learner.scale_reward": "reward scaling",
}
"""Short names of settings; the others are called by their own."""
FOLLOWING = "rle.feature_update_rate"
SHAPE_OF_FEATURES = frozenset({"rle.feature_hidden", "rle.feature_activation"})


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
    def settings(self) -> dict[str, Any]:
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
        if FOLLOWING in deviating and settings.get(FOLLOWING):
            # A φ that follows the value network has its shape: that goes without saying.
            deviating = [key for key in deviating if key not in SHAPE_OF_FEATURES]
        said = [_say(key, settings.get(key)) for key in deviating]
        labelled.append((", ".join([base, *said]), members, values == unchanged))
    labelled.sort(key=lambda item: _natural(item[0]))
    return labelled


def _preset_settings(runs: list[RunRecord]) -> dict[str, Any]:
    """The settings of the runs' preset; none if they have several, or one this version lacks."""
    if len({run.settings.get("preset") for run in runs}) > 1 or ":" in runs[0].explore:
        # To read about a strategy of the user's, its module is not needed.
        return {}
    try:
        config = preset_config(runs[0].task, runs[0].explore, runs[0].settings.get("preset"))
    except (UsageError, KeyError):
        return {}
    return flatten(json.loads(json.dumps(to_dict(config))))


def _natural(label: str) -> list[tuple[float, str]]:
    """Sorts d=8 before d=16, and a method before its variations."""
    pieces = re.split(r"(\d+\.?\d*)", label)
    return [(float(piece), "") if i % 2 else (-1.0, piece) for i, piece in enumerate(pieces)]


def _say(key: str, value: Any) -> str:
    """A setting and its value, as short as a legend needs it."""
    own = shortest_name(key.split(".")).replace("-", " ")
    name = SETTING_LABELS.get(key, own)
    if key == "total_steps":
        return f"{steps_text(value)} steps"
    if key == FOLLOWING:
        return f"φ follows V (τ={value})" if value else "φ frozen"
    if key == "rle.feature_hidden" and value is None:
        return "φ in V's shape"
    if key == "rle.feature_hidden" and not value:
        return "φ linear"
    if isinstance(value, bool):
        return name if value else f"no {name}"
    if isinstance(value, list):
        return f"{name} ({', '.join(map(str, value))})"
    return f"{name}={'none' if value is None else value}"


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
    planned = {method.label: method.runs[0].settings["total_steps"] for method in methods}
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
