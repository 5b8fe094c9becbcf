"""What all pictures of FourRoom share: which run, which moment, which marks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import matplotlib
import numpy as np
import numpy.typing as npt

from rle.errors import UsageError
from rle.report.methods import Method
from rle.report.records import GOAL_TASK, RunRecord

TOLERANCE = 0.1
"""A checkpoint within 10 % of the steps asked for will do."""
COLUMNS = 5
"""Panels side by side in a figure's file."""

Values = npt.NDArray[np.float64]
Result = TypeVar("Result")


@dataclass
class Problems:
    """What could not be drawn or measured, and why."""

    found: list[tuple[str, str, str]] = field(default_factory=list)
    """Run, what is missing, reason."""

    def sentences(self) -> list[str]:
        """One sentence for every reason: many runs may share it."""
        sentences = []
        for reason in dict.fromkeys(why for *_, why in self.found):
            runs = list(dict.fromkeys(run for run, _, why in self.found if why == reason))
            missing = dict.fromkeys(what for _, what, why in self.found if why == reason)
            more = f" and {len(runs) - 3} more" if len(runs) > 3 else ""
            sentences.append(
                f"No {', no '.join(missing)} of {', '.join(runs[:3])}{more}, because the files "
                f"could not be read: {reason.rstrip('.')}."
            )
        return sentences


def representative(method: Method) -> RunRecord:
    """The finished run with the median coverage (the lower of two): neither lucky nor unlucky."""
    ranked = sorted(_candidates(method), key=lambda run: run.final("coverage") or 0.0)
    return ranked[(len(ranked) - 1) // 2]


def _candidates(method: Method) -> list[RunRecord]:
    return [run for run in method.runs if run.finished] or list(method.runs)


def which_seed(method: Method, run: RunRecord) -> str:
    """Which of a method's runs a picture shows."""
    among = len(_candidates(method))
    return f"seed {run.seed}" if among == 1 else f"seed {run.seed} (median of {among})"


def nearest_step(available: Sequence[int], wanted: int | None) -> int | None:
    """The step closest to `wanted` if one is close, or the last for None."""
    if not available:
        return None
    if wanted is None:
        return available[-1]
    nearest = min(available, key=lambda step: abs(step - wanted))
    return nearest if abs(nearest - wanted) <= TOLERANCE * wanted else None


def columns_of(available: Sequence[Sequence[int]], wanted: Sequence[int]) -> list[int | None]:
    """Which of the `wanted` steps at least one run has; None, the end, unless it is among them."""
    has = [w for w in wanted if any(nearest_step(steps, w) is not None for steps in available)]
    at_end = all(
        not steps or steps[-1] in {nearest_step(steps, w) for w in has} for steps in available
    )
    return [*has] if has and at_end else [*has, None]


def marks(run: RunRecord) -> tuple[bool, tuple[int, int] | None]:
    """Whether to draw the goal, and the television's corner."""
    corner = run.settings.get("environment.television")
    television = tuple(corner) if run.task == "fourroom-noisytv" and corner else None
    return run.task == GOAL_TASK, television


def attempt(
    run: RunRecord, what: str, problems: Problems, action: Callable[[], Result]
) -> Result | None:
    """One unreadable checkpoint must not cost the reader the whole report."""
    try:
        return action()
    except (UsageError, KeyError, RuntimeError, TypeError, ValueError, OSError) as error:
        problems.found.append((run.name, what, str(error)))
        return None


def marks_text(task: str) -> str:
    """What the marks in a task's pictures mean, beside S."""
    if task == GOAL_TASK:
        return "; *: goal"
    if task == "fourroom-noisytv":
        return "; outlined square: television"
    return ""


def colours(name: str) -> tuple[str, ...]:
    """A colour map from its low end to its high end."""
    shades = matplotlib.colormaps[name](np.linspace(0, 1, 17), bytes=True)
    return tuple("#{:02x}{:02x}{:02x}".format(*shade[:3]) for shade in shades)
