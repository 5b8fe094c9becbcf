"""Measures from counts equal the same measures of the resampled matrices."""

from __future__ import annotations

import numpy as np
import pytest

from rle.stats.counting import COUNTED, count_draws


def draw(runs: int, tasks: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, runs, (40, runs, tasks)).astype(np.uint8)


@pytest.mark.parametrize("measure", COUNTED, ids=lambda measure: measure.__name__)
@pytest.mark.parametrize("shape", [(1, 1), (2, 3), (5, 57), (7, 4, 3), (2, 3, 5, 2)], ids=str)
def test_as_resampled(measure, shape: tuple[int, ...]) -> None:
    runs, tasks = shape[-2:]
    rng = np.random.default_rng(1)
    # Rounded, so that ties occur; far from zero, where sums lose precision.
    scores = 1e4 + rng.normal(size=shape).round(1)
    rows = draw(runs, tasks, 2)
    resampled = scores[..., rows, np.arange(tasks)]
    found = COUNTED[measure](scores, count_draws(rows))
    np.testing.assert_allclose(found, measure(resampled), rtol=1e-13)


@pytest.mark.parametrize("measure", COUNTED, ids=lambda measure: measure.__name__)
def test_runs_that_agree_have_no_spread_at_all(measure) -> None:
    scores = np.full((5, 3), 0.1)
    found = COUNTED[measure](scores, count_draws(draw(5, 3, 3)))
    assert len(set(found.tolist())) == 1


def test_draws_by_hand() -> None:
    # Two resamples of three runs of one task: runs 0, 0, 2 and 1, 1, 1.
    rows = np.array([[[0], [0], [2]], [[1], [1], [1]]], dtype=np.uint8)
    assert count_draws(rows)[:, 0].tolist() == [[2, 0], [0, 3], [1, 0]]
