"""What an estimate looks like: a point, its limits, and how they were obtained."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

import numpy as np

from rle.stats.aggregates import FloatArray

Method = Literal["expanded-percentile", "percentile"]

METHODS: Mapping[str, str] = MappingProxyType(
    {
        "expanded-percentile": (
            "stratified percentile bootstrap, expanded for the small number of seeds "
            "(variance n/(n-1), Student's t quantile)"
        ),
        "percentile": (
            "plain stratified percentile bootstrap, as in rliable; too narrow with few seeds"
        ),
        "bounded": (
            "limits for the mean of bounded values: random weights on the runs and on an unseen one "
            "at the end of the scale (Gaffke 2005), which for successes and failures are the exact "
            "binomial limits (Clopper and Pearson 1934)"
        ),
        "bounded-difference": (
            "such limits of two means of bounded values, melded (Fay, Proschan and Brittain 2015)"
        ),
        "bounded-below": (
            "stratified percentile bootstrap, expanded for the small number of seeds, and on neither "
            "side narrower than the limits for bounded values, the worst of which is a guess"
        ),
        "none": "no interval",
    }
)
"""What each method of an interval is, in words for a reader of a report."""


@dataclass(frozen=True)
class Interval:
    """An estimate and its confidence limits.

    Attributes:
        point: the estimate from the scores as they are.
        low: lower limit; None where no interval can be given.
        high: upper limit; None where no interval can be given.
        level: confidence level, such as 0.95.
        method: a key of `METHODS`.
        resamples: number of bootstrap resamples behind the limits; 0 where there are none.
        note: why there is no interval, or what is special about it; often empty.

    """

    point: float
    low: float | None
    high: float | None
    level: float
    method: str
    resamples: int
    note: str = ""

    @property
    def limits(self) -> tuple[float, float]:
        """Both limits, for arithmetic and plots; NaN where no interval can be given."""
        if self.low is None or self.high is None:
            return math.nan, math.nan
        return self.low, self.high


@dataclass(frozen=True, eq=False)
class Band:
    """An estimate and its pointwise confidence limits along a grid.

    Attributes:
        grid: `[grid]`, training steps or thresholds.
        point: `[grid]`, the estimates.
        low: `[grid]`, lower limits; NaN where no interval can be given.
        high: `[grid]`, upper limits; NaN where no interval can be given.
        level: confidence level at each single point of the grid.
        method: a key of `METHODS`.
        resamples: number of bootstrap resamples behind the limits; 0 where there are none.
        notes: why there is no interval, or what is special about it; often empty.

    """

    grid: FloatArray
    point: FloatArray
    low: FloatArray
    high: FloatArray
    level: float
    method: str
    resamples: int
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Bootstrap:
    """How to make intervals.

    Attributes:
        level: confidence level.
        method: `expanded-percentile`, or `percentile` to compare with `rliable`.
        resamples: number of bootstrap resamples.
        seed: the same integer gives the same interval; a generator is used up as it goes.

    """

    level: float = 0.95
    method: Method = "expanded-percentile"
    resamples: int = 2000
    seed: int | np.random.Generator = 0

    def __post_init__(self) -> None:
        if not 0.0 < self.level < 1.0:
            raise ValueError(f"level must lie between 0 and 1, got {self.level}")
        if self.method not in ("expanded-percentile", "percentile"):
            raise ValueError(
                f"method must be 'expanded-percentile' or 'percentile', got {self.method!r}"
            )
        if self.resamples < 2:
            raise ValueError(f"at least 2 resamples are needed, got {self.resamples}")


DEFAULT_BOOTSTRAP = Bootstrap()
"""What reports use unless told otherwise."""
