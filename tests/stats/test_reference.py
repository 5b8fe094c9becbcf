"""The shipped tables, and normalised scores."""

import numpy as np
import pytest

from rle import stats
from rle.errors import UsageError


@pytest.mark.parametrize(
    ("method", "iqm", "capped_mean"),
    [
        ("rle", 1.460, 0.742),
        ("ppo", 1.106, 0.680),
        ("rnd", 0.967, 0.620),
        ("noisynet", 0.858, 0.609),
    ],
)
def test_aggregates_of_the_paper(method: str, iqm: float, capped_mean: float) -> None:
    scores = stats.paper_atari_scores()[method]
    assert len(scores.tasks) == 57
    assert round(float(stats.interquartile_mean(stats.human_normalised(scores).values)), 3) == iqm
    capped = stats.capped_human_normalised(scores).values
    assert round(float(stats.mean(capped)), 3) == capped_mean


def test_the_tables_cover_the_same_57_games() -> None:
    references = stats.atari_reference_scores()
    assert references["Pong"] == stats.ReferenceScore(random=-20.7, human=14.6)
    assert all(score.human > score.random for score in references.values())
    for scores in stats.paper_atari_scores().values():
        assert set(scores.tasks) == set(references)
        assert scores.notes() == ()


def test_the_paper_prints_means_so_there_is_no_interval() -> None:
    paper = stats.paper_atari_scores()
    interval = stats.aggregate_interval(stats.mean, paper["rle"])
    assert (interval.low, interval.high) == (None, None)
    assert "each task" in interval.note


def test_winners_of_the_per_game_table() -> None:
    # Counted in the printed table: the number of games on which each method is in bold.
    paper = stats.paper_atari_scores()
    table = np.stack([paper[name].values[0] for name in ("ppo", "rnd", "noisynet", "rle")])
    winners = np.bincount(table.argmax(axis=0), minlength=4)
    assert winners.tolist() == [6, 11, 10, 30]


def test_published_probabilities_and_steps() -> None:
    published = stats.PAPER_PROBABILITY_OF_IMPROVEMENT
    assert published["atari"]["rle", "ppo"] == 0.67
    assert published["control"]["rle", "ppo-reward-normalised"] == 0.83
    assert stats.paper_atari_steps("Alien") == 40_000_000
    assert stats.paper_atari_steps("MontezumaRevenge") == 400_000_000
    with pytest.raises(UsageError, match="'SpaceInvaders'"):
        stats.paper_atari_steps("Alien-v5")


def test_human_normalised_by_hand() -> None:
    # Pong: random -20.7, human 14.6. Boxing: random 0.1, human 12.1.
    scores = stats.Scores.from_runs("rle", {"Pong": [14.6, -20.7], "Boxing": [24.1, 6.1]})
    np.testing.assert_allclose(stats.human_normalised(scores).values, [[1.0, 2.0], [0.0, 0.5]])
    np.testing.assert_allclose(
        stats.capped_human_normalised(scores).values, [[1.0, 1.0], [0.0, 0.5]]
    )


def test_own_references_and_unknown_tasks() -> None:
    scores = stats.Scores.from_runs("rle", {"maze": [3.0, 5.0]})
    with pytest.raises(UsageError, match="maze"):
        stats.human_normalised(scores)
    references = {"maze": stats.ReferenceScore(random=1.0, human=5.0)}
    np.testing.assert_array_equal(stats.human_normalised(scores, references).values, [[0.5], [1.0]])


def test_ppo_normalised_by_hand() -> None:
    ppo = stats.Scores.from_runs("ppo", {"Ant": [2.0, 6.0], "Humanoid": [10.0]})
    rle = stats.Scores.from_runs("rle", {"Humanoid": [5.0, 20.0], "Ant": [8.0, 2.0]})
    np.testing.assert_array_equal(stats.ppo_normalised(rle, ppo).values, [[0.5, 2.0], [2.0, 0.5]])
    assert stats.task_means(stats.ppo_normalised(ppo, ppo).values).tolist() == [1.0, 1.0]


def test_ppo_normalised_refuses_what_would_turn_the_order_around() -> None:
    rle = stats.Scores.from_runs("rle", {"Ant": [1.0], "Hand": [1.0]})
    negative = stats.Scores.from_runs("ppo", {"Ant": [1.0], "Hand": [-1.0, 1.0]})
    with pytest.raises(UsageError, match="not positive on Hand"):
        stats.ppo_normalised(rle, negative)
    missing = stats.Scores.from_runs("ppo", {"Ant": [float("nan")], "Hand": [1.0]})
    with pytest.raises(UsageError, match="ppo: no score for Ant"):
        stats.ppo_normalised(rle, missing)
