"""Tasks that are looked at together, and the scale on which their scores can be averaged."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Protocol

from rle.errors import UsageError
from rle.report.methods import Method, TaskGroup, reference_of
from rle.stats import (
    Scores,
    atari_reference_scores,
    human_normalised,
    ppo_normalised,
    restrict_to_common_tasks,
    task_means,
)
from rle.stats.normalise import AnyTaskValues

ATARI = "atari"


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
        """The scores of one method on every task; a task it was not run on has none."""
        methods = self.methods(label)
        tasks = [short_name(group.task) for group in self.groups]
        runs = {task: methods[task].runs if task in methods else () for task in tasks}
        return Scores.from_runs(
            label,
            {task: [r.score for r in of if r.score is not None] for task, of in runs.items()},
        )

    def reference(self, explore: str, labels: Collection[str]) -> str | None:
        """Which of the methods called `labels` stands for a strategy in comparisons."""
        methods = [m for group in self.groups for m in group.methods if m.label in labels]
        found = reference_of(methods, explore)
        return None if found is None else found.label

    def lengths(self, tasks: Collection[str]) -> dict[str, int]:
        """The steps that each of `tasks` was to be trained for, by any of its methods."""
        return {
            short_name(group.task): max(int(run.settings["total_steps"]) for run in group.runs)
            for group in self.groups
            if short_name(group.task) in tasks
        }


def short_name(task: str) -> str:
    """A task without its suite: the game of `atari/<game>`."""
    return task.partition("/")[2]


def suite_of(task: str) -> str:
    """The suite of a task; empty for grid worlds, which have measures of their own."""
    return task.partition("/")[0] if "/" in task else ""


def find_suites(groups: Sequence[TaskGroup]) -> list[Suite]:
    """The suites of which a folder holds several tasks."""
    names = dict.fromkeys(suite_of(group.task) for group in groups if suite_of(group.task))
    suites = [Suite(name, tuple(g for g in groups if suite_of(g.task) == name)) for name in names]
    return [suite for suite in suites if len(suite.groups) > 1]


class Normalise(Protocol):
    """Puts scores or learning curves on another scale."""

    def __call__(self, values: AnyTaskValues, /) -> AnyTaskValues: ...


@dataclass(frozen=True)
class Scale:
    """On what scale scores of different tasks are averaged."""

    key: str
    label: str
    explanation: str
    normalise: Normalise
    mark: tuple[float, str] | None
    """A value everybody knows, and what it is called."""
    shown: tuple[str, ...]
    """The aggregates that have figures, as in the paper: keys of `suite_results.LABELS`."""


def _unchanged(values: AnyTaskValues) -> AnyTaskValues:
    return values


HUMAN = Scale(
    "human_normalised",
    "human-normalised score",
    "(score − random) / (human − random): 0 is a random player, 1 a human (Mnih et al. 2015)",
    human_normalised,
    (1.0, "human"),
    ("iqm", "capped"),
)
PLAIN = Scale(
    "plain",
    "score",
    "the score itself, which has another scale on every task",
    _unchanged,
    None,
    ("iqm",),
)


def _ppo_scale(ppo: Scores) -> Scale:
    def normalise(values: AnyTaskValues) -> AnyTaskValues:
        return ppo_normalised(values, ppo)

    return Scale(
        "ppo_normalised",
        "PPO-normalised score",
        f"score / mean final score of {ppo.method} on the task (the RLE paper); intervals treat that "
        "mean as given",
        normalise,
        (1.0, ppo.method),
        ("iqm", "mean"),
    )


def comparable_scores(suite: Suite) -> tuple[dict[str, Scores], list[str]]:
    """The methods' scores on common tasks, and what was left out to get them.

    A method that was run on less than half of the tasks would cost all others theirs: it is left
    out of the comparison over tasks.
    """
    every = {label: suite.scores(label) for label in suite.labels}
    counted = {label: int((scores.runs_per_task > 0).sum()) for label, scores in every.items()}
    known = [scores for label, scores in every.items() if 2 * counted[label] >= len(suite.groups)]
    notes = [
        f"{label} is left out of the comparison over tasks: it has scores on {number} of "
        f"{len(suite.groups)}."
        for label, number in counted.items()
        if 2 * number < len(suite.groups)
    ]
    if suite.name == ATARI:
        unknown = [task for task in (known[0].tasks if known else ()) if not _has_reference(task)]
        if unknown:
            notes.append(
                "Left out of the comparison over tasks, because no human score is known: "
                f"{', '.join(unknown)}."
            )
            kept = [task for task in known[0].tasks if task not in unknown]
            known = [scores.select(kept) for scores in known] if kept else []
    try:
        common, left_out = restrict_to_common_tasks(known)
    except UsageError as error:
        return {}, [*notes, f"There is no comparison over tasks: {error}."]
    notes += left_out
    notes += [note for scores in common for note in scores.notes()]
    return {scores.method: scores for scores in common}, notes


def _has_reference(task: str) -> bool:
    return task in atari_reference_scores()


def choose_scale(
    suite: Suite, scores: dict[str, Scores]
) -> tuple[Scale, tuple[str, ...], list[str]]:
    """A scale, the tasks that have a place on it, and what a reader must know about both.

    Human-normalised for Atari, else PPO-normalised; plain scores, with a warning, at worst.
    """
    tasks = next(iter(scores.values())).tasks if scores else ()
    if suite.name == ATARI:
        return HUMAN, tasks, []
    ppo = suite.reference("none", scores)
    reason = "there is no PPO to compare with"
    if ppo is not None:
        means = task_means(scores[ppo].values)
        positive = tuple(task for task, mean in zip(tasks, means, strict=True) if mean > 0.0)
        if positive:
            others = [task for task in tasks if task not in positive]
            return _ppo_scale(scores[ppo]), positive, _left_out_of_averages(ppo, others)
        reason = f"the mean score of {ppo} is positive on no task"
    return (
        PLAIN,
        tasks,
        [
            f"Scores are averaged over tasks as they are, because {reason}. Tasks with large scores "
            "count most in such an average: rely on the probability of improvement instead."
        ],
    )


def _left_out_of_averages(ppo: str, tasks: list[str]) -> list[str]:
    if not tasks:
        return []
    return [
        f"Left out of averages over tasks, because the mean score of {ppo} is not positive and cannot "
        f"be divided by: {', '.join(tasks)}. The probability of improvement counts every task."
    ]
