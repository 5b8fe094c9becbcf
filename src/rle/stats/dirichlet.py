"""The mean of a few numbers under random weights: the law of sum D_i z_i, D from Dirichlet(1, ..., 1).

The numbers z_0 to z_n are knots, and the density is the B-spline on them (Curry and Schoenberg
1966, "On Pólya frequency functions IV", Journal d'Analyse Mathématique 17). The chance of exceeding
t is a divided difference of (z - t)^n above t, which the recursion of Cox and de Boor (1972)
computes from averages of averages: nothing cancels, and no random number is drawn.
"""

import numpy as np

from rle.stats.aggregates import FloatArray

# Ties have no spread; where two knots are this close, both lie on the same side of t.
_LEAST_SPREAD = 1e-200
# Newton's steps double the correct digits: after one this small, all that a float64 has are right.
_LAST_STEP = 1e-9
# Five or six are usual; halving alone would need thirty.
_MOST_STEPS = 100
# Of a table of the whole law, and the chance it leaves out at either end.
_TABLE_POINTS = 128
_TABLE_ENDS = 1e-6


def upper_quantile(knots: FloatArray, tail: float) -> FloatArray:
    """The value that the mean with random weights exceeds with probability `tail`.

    The chance of exceeding t is the volume of a cut simplex. Its n-th root is concave (Brunn and
    Minkowski), so Newton's method on it overshoots at most once and then approaches from above;
    halving helps out where a step would leave the knots.

    Args:
        knots: `[..., n + 1]`, on a scale of order 1, in any order.
        tail: between 0 and 1.

    Returns:
        `[...]`.

    """
    ordered = np.sort(knots, axis=-1)
    degree = ordered.shape[-1] - 1
    root = tail ** (1.0 / degree)
    below, above = ordered[..., 0], ordered[..., -1]
    guess: FloatArray = ordered.mean(axis=-1)
    for _ in range(_MOST_STEPS):
        exceeding, density = _chance_above(ordered, guess)
        below = np.where(exceeding > tail, guess, below)
        above = np.where(exceeding > tail, above, guess)
        with np.errstate(divide="ignore", invalid="ignore"):
            # (p^(1/n) - tail^(1/n)) over its slope.
            step = (1.0 - root / exceeding ** (1.0 / degree)) * degree * exceeding / density
        stepped = guess + step
        usable = (np.abs(step) < _LAST_STEP) | ((below < stepped) & (stepped < above))
        stepped = np.where(usable, stepped, 0.5 * (below + above))
        settled = np.all(np.abs(stepped - guess) < _LAST_STEP)
        guess = stepped
        if settled:
            break
    return guess


def quantiles(knots: FloatArray, levels: FloatArray) -> FloatArray:
    """Many quantiles of the mean with random weights, from a table: right to about 1e-4 in chance.

    Args:
        knots: `[..., n + 1]`, as in `upper_quantile`.
        levels: `[levels]`, chances of lying below.

    Returns:
        `[..., levels]`.

    """
    first, last = (
        upper_quantile(knots, tail)[..., None] for tail in (1 - _TABLE_ENDS, _TABLE_ENDS)
    )
    points = first + (last - first) * np.linspace(0.0, 1.0, _TABLE_POINTS)
    exceeding, _ = _chance_above(np.sort(knots, axis=-1)[..., None, :], points)
    rows = zip(
        1.0 - exceeding.reshape(-1, _TABLE_POINTS),
        points.reshape(-1, _TABLE_POINTS),
        strict=True,
    )
    found = np.stack([np.interp(levels, below, at) for below, at in rows])
    return found.reshape(*knots.shape[:-1], len(levels))


def _chance_above(knots: FloatArray, at: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The chance that the mean exceeds `at`, and its density there.

    Args:
        knots: `[..., n + 1]`, in ascending order.
        at: `[...]`.

    """
    last = knots.shape[-1] - 1
    point = at[..., None]
    # Of the mean of one knot, of two neighbouring ones, and so on up to all of them.
    chances = (knots > point).astype(np.float64)
    for order in range(1, last + 1):
        spread = np.maximum(knots[..., order:] - knots[..., :-order], _LEAST_SPREAD)
        part = knots[..., order:] - point
        part /= spread
        rise = np.diff(chances, axis=-1)
        part *= rise
        chances = chances[..., :-1] + part
    return chances[..., 0], last * rise[..., 0] / spread[..., 0]
