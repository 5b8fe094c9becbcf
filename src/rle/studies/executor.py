"""What carries out the runs of a study: processes of this machine, or a cluster."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple, Protocol

from rle.config import RunConfig

STOP_SECONDS = 120.0
"""How long an interrupted study waits for its runs to write their checkpoints and end."""

Job = Callable[[RunConfig, Path, int], str | None]
"""What a process that was started for a run does, on so many cores; see `worker.work`."""
IN_LOG = ""
"""What it returns if the run has not come to its end and its log says why."""


def kind_of(config: RunConfig) -> str:
    """What runs have in common that differ in nothing but their seed."""
    return repr(dataclasses.replace(config, seed=0))


class Ended(NamedTuple):
    """A run that is no longer going on; what became of it is in its folder."""

    folder: str
    died: bool = False
    """Whether its process or machine died; otherwise it has come to an end of its own."""


class Executor(Protocol):
    """Starts runs and says which have ended; what became of them is in their folders.

    A run that is started again goes on from its last checkpoint, wherever it was trained before.
    """

    def slots(self) -> int:
        """How many runs may go on side by side, at the moment."""
        ...

    def submit(self, folder: str, config: RunConfig, path: Path) -> None:
        """Start, or go on with, the run that is called `folder`, in the run directory `path`."""
        ...

    def wait(self, seconds: float) -> list[Ended]:
        """The runs that have ended, however they did; waits up to `seconds` for one."""
        ...

    def stop(self) -> None:
        """End what is still going on, with a checkpoint where there is time for one; then nothing is."""
        ...
