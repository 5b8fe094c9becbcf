"""Scores keep a record of everything that is missing."""

import numpy as np
import pytest

from rle import stats
from rle.errors import UsageError


def test_unequal_and_invalid_runs_are_padded_and_reported() -> None:
    scores = stats.Scores.from_runs(
        "rle",
        {
            "Alien": [1.0, 2.0, 3.0],
            "Boxing": [float("nan"), 5.0],
            "Pong": [],
            "Qbert": [float("inf"), 1.0, 2.0],
        },
    )
    np.testing.assert_array_equal(scores.runs_per_task, [3, 1, 0, 2])
    np.testing.assert_array_equal(scores.values[:, 1], [5.0, np.nan, np.nan])
    assert scores.notes() == (
        "rle: 2 scores are NaN or infinite and cannot be averaged: Boxing (1 of 2), "
        "Qbert (1 of 3).",
        "rle: no score for Pong.",
        "rle: 3 runs per task, but fewer on Boxing (1), Qbert (2); every task still counts the "
        "same.",
    )


def test_complete_scores_have_no_notes() -> None:
    scores = stats.Scores.from_matrix("ppo", ["a", "b"], [[1.0, 2.0], [3.0, 4.0]])
    assert scores.notes() == ()
    assert scores.require_every_task() is scores
    np.testing.assert_array_equal(scores.values, [[1.0, 2.0], [3.0, 4.0]])


def test_a_task_with_no_finite_score_cannot_be_aggregated() -> None:
    scores = stats.Scores.from_runs("rnd", {"a": [float("nan")]})
    assert scores.values.shape == (1, 1)
    with pytest.raises(UsageError, match="rnd: no score for a"):
        scores.require_every_task()


def test_select_reorders_and_names_what_is_absent() -> None:
    scores = stats.Scores.from_runs("rle", {"a": [1.0], "b": [2.0, float("nan")]})
    chosen = scores.select(["b", "a"])
    assert chosen.tasks == ("b", "a")
    np.testing.assert_array_equal(chosen.values[0], [2.0, 1.0])
    np.testing.assert_array_equal(chosen.not_finite, [1, 0])
    with pytest.raises(UsageError, match="rle: no scores for c"):
        scores.select(["a", "c"])


def test_common_tasks_say_what_is_left_out_and_why() -> None:
    first = stats.Scores.from_runs("rle", {"a": [1.0], "b": [2.0], "c": [3.0]})
    second = stats.Scores.from_runs("ppo", {"c": [1.0], "a": [float("nan")], "d": [1.0]})
    (ours, rivals), notes = stats.restrict_to_common_tasks([first, second])
    assert ours.tasks == rivals.tasks == ("c",)
    assert notes == (
        "a is left out: no score of ppo.",
        "b is left out: no score of ppo.",
        "d is left out: no score of rle.",
    )
    with pytest.raises(UsageError, match="no task"):
        stats.restrict_to_common_tasks([first.select(["a"]), second])
    with pytest.raises(UsageError, match="no methods"):
        stats.restrict_to_common_tasks([])


def test_bad_input_is_explained() -> None:
    with pytest.raises(UsageError, match="there are no scores"):
        stats.Scores.from_runs("rle", {})
    with pytest.raises(UsageError, match="2 different tasks"):
        stats.Scores.from_matrix("rle", ["a", "b"], np.ones((3, 3)))
    with pytest.raises(UsageError, match="2 different tasks"):
        stats.Scores.from_matrix("rle", ["a", "a"], np.ones((3, 2)))
