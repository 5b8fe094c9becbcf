"""Scores on a scale that makes tasks comparable.

Each function takes anything with named tasks and values `[..., tasks]`: final scores or aligned
learning curves.
"""

from collections.abc import Mapping
from typing import Protocol, Self, TypeVar

import numpy as np

from rle.errors import UsageError
from rle.stats.aggregates import FloatArray, task_means
from rle.stats.reference import ReferenceScore, atari_reference_scores
from rle.stats.scores import Scores


class TaskValues(Protocol):
    """Values `[..., tasks]` of named tasks."""

    @property
    def tasks(self) -> tuple[str, ...]:
        """Names of the tasks, in the order of the last dimension."""

    @property
    def values(self) -> FloatArray:
        """`[..., tasks]`."""

    def with_values(self, values: FloatArray) -> Self:
        """The same runs with other values."""


AnyTaskValues = TypeVar("AnyTaskValues", bound=TaskValues)


def human_normalised(
    scores: AnyTaskValues, references: Mapping[str, ReferenceScore] | None = None
) -> AnyTaskValues:
    """(score - random) / (human - random): 0 is a random player, 1 a human.

    Source: Mnih et al. 2015. `references` gives both scores by task; without it, those of the 57
    Atari games.
    """
    known = atari_reference_scores() if references is None else references
    unknown = [task for task in scores.tasks if task not in known]
    if unknown:
        raise UsageError(
            f"no random and human score is known for {', '.join(unknown)}; leave them out or "
            "give `references`"
        )
    random = np.array([known[task].random for task in scores.tasks])
    human = np.array([known[task].human for task in scores.tasks])
    return scores.with_values((scores.values - random) / (human - random))


def capped_human_normalised(
    scores: AnyTaskValues, references: Mapping[str, ReferenceScore] | None = None
) -> AnyTaskValues:
    """The human-normalised score clipped to [0, 1] (CHNS): play beyond human earns nothing.

    Source: Badia et al. 2020, "Agent57".
    """
    normalised = human_normalised(scores, references)
    return normalised.with_values(np.clip(normalised.values, 0.0, 1.0))


def ppo_normalised(scores: AnyTaskValues, ppo: Scores) -> AnyTaskValues:
    """Divide by the mean score of PPO on the task, so that PPO's own mean is 1.

    Source: the RLE paper, evaluation in continuous control. As there, intervals treat PPO's mean
    as given; compare two methods by the interval of a difference or of the probability of
    improvement, which need no normalisation by an estimate.
    """
    means = task_means(ppo.select(scores.tasks).require_every_task().values)
    unusable = [task for task, value in zip(scores.tasks, means, strict=True) if value <= 0.0]
    if unusable:
        raise UsageError(
            f"the mean score of PPO is not positive on {', '.join(unusable)}: dividing by it "
            "would turn the order of methods around; leave these tasks out"
        )
    return scores.with_values(scores.values / means)
