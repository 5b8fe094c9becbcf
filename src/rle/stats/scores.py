"""The scores of one method: runs x tasks, with everything that is missing on record."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from rle.errors import UsageError
from rle.stats.aggregates import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Scores:
    """The scores of one method.

    Attributes:
        method: name of the method.
        tasks: names of the tasks.
        values: `[runs, tasks]`; a task's scores come first, NaN fills up what it has too few.
        not_finite: `[tasks]`, how many scores of the task were NaN or infinite. They are not in
            `values`: a diverged run has no score that could be averaged, but it is reported.

    """

    method: str
    tasks: tuple[str, ...]
    values: FloatArray
    not_finite: IntArray

    @classmethod
    def from_runs(cls, method: str, runs: Mapping[str, Sequence[float]]) -> Scores:
        """Scores from one list of runs per task; the lists may differ in length."""
        if not runs:
            raise UsageError(f"{method}: there are no scores; give at least one task with a run")
        columns = [np.asarray(scores, dtype=np.float64).reshape(-1) for scores in runs.values()]
        finite = [column[np.isfinite(column)] for column in columns]
        values = np.full((max(1, *map(len, columns)), len(columns)), np.nan)
        for task, column in enumerate(finite):
            values[: len(column), task] = column
        not_finite = [len(column) - len(kept) for column, kept in zip(columns, finite, strict=True)]
        return cls(method, tuple(runs), values, np.array(not_finite, dtype=np.intp))

    @classmethod
    def from_matrix(cls, method: str, tasks: Sequence[str], matrix: npt.ArrayLike) -> Scores:
        """Scores from a matrix `[runs, tasks]` in which every entry is a run."""
        entries = np.asarray(matrix, dtype=np.float64)
        if entries.ndim != 2 or entries.shape[1] != len(tasks) or len(set(tasks)) != len(tasks):
            raise UsageError(
                f"{method}: a matrix [runs, tasks] with {len(tasks)} different tasks is needed, "
                f"got shape {list(entries.shape)}"
            )
        return cls.from_runs(
            method, {task: entries[:, column].tolist() for column, task in enumerate(tasks)}
        )

    @property
    def runs_per_task(self) -> IntArray:
        """Number of finite scores of each task, `[tasks]`; may be zero."""
        counts: IntArray = (~np.isnan(self.values)).sum(axis=0, dtype=np.intp)
        return counts

    def with_values(self, values: FloatArray) -> Scores:
        """The same runs with transformed scores."""
        return replace(self, values=values)

    def select(self, tasks: Sequence[str]) -> Scores:
        """Only `tasks`, in that order."""
        absent = [task for task in tasks if task not in self.tasks]
        if absent:
            raise UsageError(f"{self.method}: no scores for {', '.join(absent)}")
        columns = [self.tasks.index(task) for task in tasks]
        return replace(
            self,
            tasks=tuple(tasks),
            # In row order like any other scores, or sums would round differently.
            values=np.ascontiguousarray(self.values[:, columns]),
            not_finite=self.not_finite[columns],
        )

    def require_every_task(self) -> Scores:
        """These scores, unless a task has none: then no aggregate over tasks is defined."""
        absent = [
            task for task, count in zip(self.tasks, self.runs_per_task, strict=True) if count == 0
        ]
        if absent:
            raise UsageError(
                f"{self.method}: no score for {', '.join(absent)}; leave these tasks out for "
                "every method alike (restrict_to_common_tasks) or add runs"
            )
        return self

    def notes(self) -> tuple[str, ...]:
        """One sentence for each thing a reader must know about missing scores; often none."""
        counts = self.runs_per_task
        most = int(counts.max())
        absent = [task for task, count in zip(self.tasks, counts, strict=True) if count == 0]
        fewer = [
            f"{task} ({count})"
            for task, count in zip(self.tasks, counts, strict=True)
            if 0 < count < most
        ]
        invalid = [
            f"{task} ({bad} of {bad + count})"
            for task, bad, count in zip(self.tasks, self.not_finite, counts, strict=True)
            if bad
        ]
        notes = []
        if invalid:
            notes.append(
                f"{self.method}: {self.not_finite.sum()} "
                f"{'scores are' if self.not_finite.sum() > 1 else 'score is'} NaN or infinite and "
                f"cannot be averaged: {', '.join(invalid)}."
            )
        if absent:
            notes.append(f"{self.method}: no score for {', '.join(absent)}.")
        if fewer:
            notes.append(
                f"{self.method}: {most} runs per task, but fewer on {', '.join(fewer)}; "
                "every task still counts the same."
            )
        return tuple(notes)


def restrict_to_common_tasks(
    methods: Sequence[Scores],
) -> tuple[tuple[Scores, ...], tuple[str, ...]]:
    """Keep the tasks on which every method has a score, and say which were left out.

    Returns:
        The methods with the same tasks in the same order, and one sentence per task left out.

    """
    if not methods:
        raise UsageError("there are no methods to compare; give at least one")
    every_task = dict.fromkeys(task for scores in methods for task in scores.tasks)
    common, notes = [], []
    for task in every_task:
        lacking = [scores.method for scores in methods if not _has_score(scores, task)]
        if lacking:
            notes.append(f"{task} is left out: no score of {', '.join(lacking)}.")
        else:
            common.append(task)
    if not common:
        raise UsageError("no task has a score of every method; compare fewer methods")
    return tuple(scores.select(common) for scores in methods), tuple(notes)


def _has_score(scores: Scores, task: str) -> bool:
    return task in scores.tasks and bool(scores.runs_per_task[scores.tasks.index(task)])
