"""How the steps until a task is solved grow with its size: DeepSea, whose N can be any."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

import numpy as np

from rle.report.measure.curves import finite_curves
from rle.report.measure.measures import SOLVED
from rle.report.read.methods import Method, Suite
from rle.report.read.words import short_name

_DEEP_SEA = re.compile(r"DeepSea-(\d+)")


@dataclass(frozen=True)
class Solving:
    """When the seeds of a method solved one size."""

    size: int
    """N."""
    seeds: int
    steps: tuple[float, ...]
    """Of the seeds that did, ascending: the first at which half of the last 128 episodes succeeded."""

    @property
    def median(self) -> float | None:
        """Over all seeds, the lower one of two; None if fewer than half of them solved it."""
        middle = (self.seeds - 1) // 2
        return self.steps[middle] if middle < len(self.steps) else None


@dataclass(frozen=True)
class Depth:
    """One method over all sizes."""

    method: str
    """Its label."""
    solvings: tuple[Solving, ...]
    """By size, ascending."""

    @property
    def solved(self) -> list[tuple[int, float]]:
        """Sizes that at least half of the seeds solved, and the median of their steps."""
        medians = ((one.size, one.median) for one in self.solvings)
        return [(size, steps) for size, steps in medians if steps is not None]

    @property
    def exponent(self) -> float | None:
        """β of steps ~ 2^(β N), by least squares over the medians; None of fewer than two sizes.

        Random actions have 1, beside a factor N for the length of an episode.
        """
        if len(self.solved) < 2:
            return None
        sizes, steps = zip(*self.solved, strict=True)
        return float(np.polyfit(sizes, np.log2(steps), 1)[0])


def dithering_steps(size: int) -> float:
    """Steps that random actions take on average: 2^N episodes of N steps."""
    return size * 2.0**size


def measure_depth(suite: Suite) -> list[Depth]:
    """Every method in seas of several sizes; empty where there is at most one."""
    found = {
        group: int(match[1])
        for group in suite.groups
        if (match := _DEEP_SEA.fullmatch(short_name(group.task)))
    }
    if len(found) < 2:
        return []
    by_method: dict[str, list[Solving]] = {label: [] for label in suite.labels}
    for group, size in sorted(found.items(), key=lambda item: item[1]):
        for method in group.methods:
            by_method[method.label].append(_solving(method, size))
    return [Depth(label, tuple(of)) for label, of in by_method.items() if of]


def _solving(method: Method, size: int) -> Solving:
    firsts = [_first(steps, values) for steps, values in finite_curves(method, "score")]
    solved = sorted(step for step in firsts if math.isfinite(step))
    return Solving(size, len(method.runs), tuple(solved))


def _first(steps: np.ndarray, values: np.ndarray) -> float:
    """The first of `steps` at which enough episodes succeeded; infinite if there is none."""
    enough = values >= SOLVED
    return float(steps[int(np.argmax(enough))]) if enough.any() else math.inf
