"""Quantiles of Student's t, with SciPy as the oracle."""

import numpy as np
import pytest
from scipy import stats as scipy_stats

from rle.stats.student import student_t_quantile


@pytest.mark.parametrize("level", [0.5, 0.9, 0.95, 0.999])
def test_agrees_with_scipy(level: float) -> None:
    freedom = np.array([1.0, 1.3, 2.0, 4.0, 9.7, 30.0, 228.0, 1083.0, 1e5])
    expected = scipy_stats.t.ppf(0.5 + level / 2, freedom)
    np.testing.assert_allclose(student_t_quantile(level, freedom), expected, rtol=1e-8)


def test_a_number_and_any_shape() -> None:
    assert float(student_t_quantile(0.95, 2.0)) == pytest.approx(4.302652729911275)
    assert student_t_quantile(0.95, np.full((2, 3), 5.0)).shape == (2, 3)


def test_bad_input() -> None:
    with pytest.raises(ValueError, match="degrees of freedom"):
        student_t_quantile(0.95, 0.5)
    with pytest.raises(ValueError, match="level"):
        student_t_quantile(1.0, 5.0)
