"""One progress display for all runs of a study, read from their directories."""

from __future__ import annotations

import math
import time
from collections.abc import Collection
from pathlib import Path
from typing import Any

from rle.runs.line import LiveLines, ProgressLine, shows_lines
from rle.runs.logs import last_metrics
from rle.runs.progress import SECONDS_BETWEEN_LINES, describe


class StudyDisplay:
    """How far a study has come: live lines on a terminal, plain lines elsewhere, or nothing."""

    def __init__(self, out: Path, totals: dict[str, int], mode: str) -> None:
        self._out, self._totals, self._mode = out, totals, mode
        self._steps = dict.fromkeys(totals, 0)
        self._metrics: dict[str, dict[str, Any]] = {}
        self._seen: dict[str, tuple[float, int]] = {}
        """When a run that is now running was first seen to be, and at which step."""
        self._started = self._shown = time.monotonic()
        self.made = 0
        """Agent steps seen to be made, over all runs."""
        self._read()
        self.made = 0  # What the first look found was made before.
        self._lines: list[ProgressLine] = [self._total_line(0.0)]
        self._live = LiveLines(lambda: self._lines) if mode == "bar" else None

    def _read(self) -> None:
        for folder, total in self._totals.items():
            if self._steps[folder] < total:
                self._metrics[folder] = last_metrics(self._out / folder)
                step = min(self._metrics[folder].get("step", 0), total)
                # A resumed run falls back to its checkpoint; the way back up is work all the same.
                self.made += max(step - self._steps[folder], 0)
                self._steps[folder] = step

    def poll(self, running: Collection[str] = ()) -> None:
        """Look at the runs and show what changed; one line for each that is `running`."""
        now = time.monotonic()
        if self._mode != "bar" and now - self._shown < SECONDS_BETWEEN_LINES:
            return
        self._shown = now
        self._read()
        if self._mode == "silent":
            return
        total = self._total_line(self.made / max(now - self._started, 1e-9))
        if self._live is not None:
            self._seen = {name: seen for name, seen in self._seen.items() if name in running}
            self._lines = [*(self._run_line(folder, now) for folder in running), total]
            return
        left = f"{(total.total - total.step) / total.rate:.0f} s left" if total.rate else "starting"
        print(
            f"{total.label} done, {total.step:,} of {total.total:,} steps, {total.rate:,.0f} steps/s, "
            f"{left}",
            flush=True,
        )

    def _total_line(self, rate: float) -> ProgressLine:
        done = sum(self._steps[folder] >= total for folder, total in self._totals.items())
        label = f"{done} of {len(self._totals)} runs"
        return ProgressLine(label, sum(self._steps.values()), sum(self._totals.values()), rate)

    def _run_line(self, folder: str, now: float) -> ProgressLine:
        """Task, method and seed of a run, and how it is doing."""
        step, metrics = self._steps[folder], self._metrics.get(folder, {})
        rate = 0.0
        # Before its first steps, a run builds and compiles: that says nothing of its rate.
        if step > 0:
            since, first = self._seen.setdefault(folder, (now, step))
            rate = max(step - first, 0) / max(now - since, 1e-9)
        label = folder.replace("/seed-", " seed ").replace("/", " ")
        return ProgressLine(label, step, self._totals[folder], rate, describe(metrics)[:2])

    def close(self) -> None:
        """Show the last state and stop."""
        self._shown = -math.inf
        self.poll()
        if self._live is not None:
            self._live.close()


def study_display(out: Path, totals: dict[str, int], quiet: bool) -> StudyDisplay:
    """What suits where the output goes."""
    mode = "silent" if quiet else "bar" if shows_lines() else "lines"
    return StudyDisplay(out, totals, mode)
