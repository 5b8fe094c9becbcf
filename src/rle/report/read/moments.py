"""Which run stands for a method, and at which moments of training it is looked at."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from rle.errors import UsageError
from rle.report.read.methods import Method
from rle.report.read.records import UNREADABLE, RunRecord
from rle.report.read.settings import planned_steps
from rle.report.read.words import steps_text

MOMENTS = (0.2, 0.6)
"""Shares of training at which agents are looked at, beside its end: the paper's 500 k, 1.5 M and 2.5 M
of 2.5 M steps."""
TOLERANCE = 0.1
"""A checkpoint within 10 % of the steps asked for will do."""

Moment = float | None
"""A share of training; None: the last that was recorded."""
Result = TypeVar("Result")


class NeedsCodeError(UsageError):
    """Cannot be shown without code that a run names, which a report does not run."""


@dataclass
class Problems:
    """What could not be drawn or measured, and why."""

    found: list[tuple[str, str, str]] = field(default_factory=list)
    """Run, what is missing, why."""

    def sentences(self) -> list[str]:
        """One sentence for every reason: many runs may share it."""
        sentences = []
        for reason in dict.fromkeys(why for *_, why in self.found):
            runs = list(dict.fromkeys(run for run, _, why in self.found if why == reason))
            missing = dict.fromkeys(what for _, what, why in self.found if why == reason)
            more = f" and {len(runs) - 3} more" if len(runs) > 3 else ""
            sentences.append(
                f"No {', no '.join(missing)} of {', '.join(runs[:3])}{more}, because "
                f"{reason.rstrip('.')}."
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


@dataclass(frozen=True)
class Recorded:
    """The steps at which a run recorded something, ascending, and how many it is to make."""

    steps: tuple[int, ...]
    planned: int

    def nearest(self, moment: Moment) -> int | None:
        """The step closest to a moment of training, None if none is close; or the last."""
        if not self.steps:
            return None
        if moment is None:
            return self.steps[-1]
        wanted = moment * self.planned
        nearest = min(self.steps, key=lambda step: abs(step - wanted))
        return nearest if abs(nearest - wanted) <= TOLERANCE * wanted else None


def checkpoints_of(run: RunRecord) -> Recorded:
    """Where the agent of a run can be loaded."""
    return Recorded(run.checkpoints, planned_steps(run.settings))


def artefacts_of(run: RunRecord) -> Recorded:
    """Where a run counted its visits."""
    return Recorded(run.artefacts, planned_steps(run.settings))


def moments_of(recorded: Sequence[Recorded], shares: Sequence[float]) -> list[Moment]:
    """Which of the `shares` of training at least one run has; the end too, unless they reach it."""
    has = [s for s in shares if any(one.nearest(s) is not None for one in recorded)]
    at_end = all(
        not one.steps or one.steps[-1] in {one.nearest(s) for s in has} for one in recorded
    )
    return [*has] if has and at_end else [*has, None]


def moment_name(moment: Moment) -> str:
    """A moment in a table."""
    return "end" if moment is None else f"{100 * moment:.0f} %"


def moment_heading(moment: Moment, steps: Iterable[int | None]) -> tuple[str, bool]:
    """When pictures were taken, and whether that leaves open after how many steps each was."""
    texts = {steps_text(step) for step in steps if step is not None}
    if len(texts) == 1:
        return f"After {texts.pop()} steps", False
    return "At the end" if moment is None else f"After {moment_name(moment)} of training", True


def attempt(
    run: RunRecord, what: str, problems: Problems, action: Callable[[], Result]
) -> Result | None:
    """One unreadable checkpoint must not cost the reader the whole report."""
    try:
        return action()
    except NeedsCodeError as error:
        problems.found.append((run.name, what, str(error)))
    except (*UNREADABLE, RuntimeError, MemoryError) as error:
        problems.found.append((run.name, what, f"the files could not be read: {error}"))
    return None
