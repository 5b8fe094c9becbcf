"""Quantiles of Student's t distribution, with NumPy only."""

import math

import numpy as np
import numpy.typing as npt

from rle.stats.aggregates import FloatArray

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(64)
# Newton's steps from below double the correct digits once near; ten are usual, from any start.
_MOST_STEPS = 100


def student_t_quantile(level: float, degrees_of_freedom: npt.ArrayLike) -> FloatArray:
    """The value q with P(-q < T < q) = `level`, for T with the given degrees of freedom.

    With T = sqrt(v) tan(a) the probability is the integral of cos(a)^(v-1), a smooth function,
    over [-a, a]; it is integrated by Gauss-Legendre quadrature and inverted by Newton's method,
    which approaches from below without fail because the integrand falls on [0, pi / 2].

    Args:
        level: between 0 and 1.
        degrees_of_freedom: `[...]`, at least 1, not necessarily whole numbers.

    Returns:
        `[...]`.

    """
    freedom = np.asarray(degrees_of_freedom, dtype=np.float64)
    if not 0.0 < level < 1.0 or np.any(freedom < 1.0):
        raise ValueError("level must lie between 0 and 1, degrees of freedom be at least 1")
    # Integral of cos(a)^(v-1) over [0, pi / 2].
    whole = np.vectorize(
        lambda v: 0.5 * math.sqrt(math.pi) * math.exp(math.lgamma(v / 2) - math.lgamma((v + 1) / 2))
    )(freedom)
    angle = np.zeros_like(freedom)
    for _ in range(_MOST_STEPS):
        nodes = 0.5 * angle[..., None] * (_NODES + 1.0)
        powers = np.cos(nodes) ** (freedom[..., None] - 1.0)
        missing = level * whole - 0.5 * angle * np.sum(_WEIGHTS * powers, axis=-1)
        step = missing / np.cos(angle) ** (freedom - 1.0)
        angle = angle + step
        if np.all(step < 1e-14 * angle):
            break
    return np.sqrt(freedom) * np.tan(angle)
