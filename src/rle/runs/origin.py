"""Where a new run's agent comes from: `RUN[@STEP]`, a checkpoint of another run."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rle.errors import UsageError
from rle.naming import is_file
from rle.runs.directory import CONFIG, RunDirectory
from rle.runs.files import digest_of_file


@dataclass(frozen=True)
class Origin:
    """A checkpoint of a run."""

    run: RunDirectory
    step: int

    def __str__(self) -> str:
        return f"{self.run.path}@{self.step}"

    def record(self) -> dict[str, Any]:
        """What another run remembers of it."""
        config = self.run.config()
        return {
            "run": str(self.run.path.resolve()),
            "step": self.step,
            "task": config.task,
            "explore": config.explore,
            "sha256": digest_of_file(self.run.checkpoint_path(self.step)),
        }


def find_origin(given: str | Path) -> Origin:
    """The checkpoint that `RUN[@STEP]` names; without a step, the run's latest."""
    path, at, text = str(given).rpartition("@")
    if not at or is_file(Path(given) / CONFIG):
        run = RunDirectory.open(given)
        return Origin(run, run.latest_checkpoint())
    run = RunDirectory.open(path)
    run.latest_checkpoint()  # says so if there is none
    step = _step(text)
    if step is None:
        raise UsageError(
            f"init-from is {str(given)!r}: after the @ comes the step of a checkpoint, one of "
            f"{', '.join(map(str, run.checkpoint_steps()))}."
        )
    run.require_checkpoint(step)
    return Origin(run, step)


def _step(text: str) -> int | None:
    """1000000, 1_000_000 and 1e6 as a number; None for what is none."""
    try:
        number = float(text)
    except ValueError:
        return None
    return int(number) if number.is_integer() else None
