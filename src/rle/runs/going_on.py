"""A run that goes on for longer than it was to: what may be asked, what then differs, what is kept."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from rle.checks import require
from rle.config import RunConfig
from rle.learn.compilation import compiler_available, pays
from rle.runs.directory import RunDirectory
from rle.runs.trainer import Trainer
from rle.settings import replace


def with_total_steps(run: RunDirectory, total_steps: Any) -> RunConfig:
    """The run's configuration with another number of steps, which must be more than it has made."""
    config = replace(run.config(), {"total_steps": total_steps})
    made = max(run.checkpoint_steps(), default=0)
    require(
        config.total_steps > made,
        f"total-steps is {config.total_steps:,}, and {run.path} has made {made:,} steps already: "
        "give more than that.",
    )
    return config


def keep_change(run: RunDirectory, trainer: Trainer) -> str | None:
    """Let the run directory describe the run as `trainer` now makes it.

    Returns:
        What is not as in a run that was this long from the start, in one sentence; None if all is.

    """
    before, after = run.config(), trainer.config
    finished = run.finished()
    if before == after and finished is None:
        return None
    differs = _what_differs(before, after, trainer)
    run.save_change(
        {
            "time": datetime.now(UTC).isoformat(timespec="seconds"),
            "step": trainer.step,
            "from_total_steps": before.total_steps,
            "to_total_steps": after.total_steps,
            "finished": finished,
            "differs": differs,
        },
        after,
    )
    return differs


def _what_differs(before: RunConfig, after: RunConfig, trainer: Trainer) -> str | None:
    """Everything that depends on the number of steps, or on the run having been saved here."""
    reasons = []
    annealed = [
        f"the bonus of {stream.name}" for stream in trainer.strategy.streams if stream.anneal
    ]
    if after.learner.anneal_learning_rate:
        annealed.insert(0, "the learning rate")
    if before.total_steps != after.total_steps:
        reasons += [
            f"{what} has fallen towards the end at {before.total_steps:,} steps and is from here on the "
            "one that falls to 0 at the new end"
            for what in annealed
        ]
    compiled = after.machine.compile == "on"
    if compiled == pays(before) != pays(after) and compiler_available():
        reasons.append(
            f"it is {'' if compiled else 'not '}compiled, as it began, and one of the new length would "
            f"{'not ' if compiled else ''}be, unless --compile says otherwise"
        )
    if trainer.task.restarted:
        reasons.append("the state of its environments cannot be saved, so that new episodes start")
    if not reasons:
        return None
    return f"not bit for bit a run of {after.total_steps:,} steps from the start: {'; '.join(reasons)}."


def was_to_make(run: RunDirectory, total_steps: int) -> bool:
    """Whether a run that goes on for longer was once to make `total_steps`."""
    return run.config().total_steps > total_steps and any(
        change["from_total_steps"] == total_steps for change in run.changes()
    )
