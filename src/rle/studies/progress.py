"""One progress display for all runs of a study, read from their directories."""

from __future__ import annotations

import json
import math
import os
import sys
import time
from pathlib import Path

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from rle.runs.directory import METRICS
from rle.runs.progress import SECONDS_BETWEEN_LINES

TAIL_BYTES = 16_384


def last_step(run: Path) -> int:
    """Agent steps a run has logged; reads only the end of its metrics."""
    path = run / METRICS
    if not path.exists():
        return 0
    with path.open("rb") as file:
        file.seek(0, os.SEEK_END)
        file.seek(max(file.tell() - TAIL_BYTES, 0))
        lines = file.read().split(b"\n")[:-1]
    if not lines:
        return 0
    try:
        return int(json.loads(lines[-1])["step"])
    except (ValueError, KeyError):
        return 0


class StudyDisplay:
    """How far a study has come: a live bar on a terminal, plain lines elsewhere, or nothing."""

    def __init__(self, out: Path, totals: dict[str, int], mode: str) -> None:
        self._out, self._totals, self._mode = out, totals, mode
        self._steps = dict.fromkeys(totals, 0)
        self._started = self._shown = time.monotonic()
        self.made = 0
        """Agent steps seen to be made, over all runs."""
        self._read()
        self.made = 0  # What the first look found was made before.
        self._bar: Progress | None = None
        if mode == "bar":
            self._bar = Progress(
                TextColumn("{task.description}"),
                BarColumn(),
                MofNCompleteColumn(),
                TextColumn("{task.fields[rate]} steps/s"),
                TimeRemainingColumn(),
            )
            self._task = self._bar.add_task(
                "study", total=sum(totals.values()), completed=sum(self._steps.values()), rate="-"
            )
            self._bar.start()

    def _read(self) -> None:
        for folder, total in self._totals.items():
            if self._steps[folder] < total:
                step = min(last_step(self._out / folder), total)
                # A resumed run falls back to its checkpoint; the way back up is work all the same.
                self.made += max(step - self._steps[folder], 0)
                self._steps[folder] = step

    def poll(self) -> None:
        """Look at the runs and show what changed."""
        now = time.monotonic()
        if self._mode != "bar" and now - self._shown < SECONDS_BETWEEN_LINES:
            return
        self._shown = now
        self._read()
        if self._mode == "silent":
            return
        step, total = sum(self._steps.values()), sum(self._totals.values())
        rate = self.made / max(now - self._started, 1e-9)
        done = sum(self._steps[folder] >= total for folder, total in self._totals.items())
        label = f"{done} of {len(self._totals)} runs"
        if self._bar is not None:
            self._bar.update(self._task, completed=step, rate=f"{rate:,.0f}", description=label)
        else:
            left = f"{(total - step) / rate:.0f} s left" if rate > 0 else "starting"
            print(
                f"{label} done, {step:,} of {total:,} steps, {rate:,.0f} steps/s, {left}",
                flush=True,
            )

    def close(self) -> None:
        """Show the last state and stop."""
        self._shown = -math.inf
        self.poll()
        if self._bar is not None:
            self._bar.stop()


def study_display(out: Path, totals: dict[str, int], quiet: bool) -> StudyDisplay:
    """What suits where the output goes."""
    mode = "silent" if quiet else "bar" if sys.stdout.isatty() else "lines"
    return StudyDisplay(out, totals, mode)
