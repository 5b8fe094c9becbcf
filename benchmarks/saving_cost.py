"""What checksums and flushing cost, as shares of the training time of one run.

    python benchmarks/saving_cost.py [fourroom atari/Alien ...] [--seconds 60]

Each task is trained with its own settings for so many seconds at least, and ten checkpoints are written
on the way. What a run pays is the mean cost of one, times how many it writes: those of its
interval and those by time. Timed are, within the run: SHA-256, every fsync of a file or a folder, and
for comparison the saving as a whole; then the reading of a checkpoint, with and without its digest.
"""

import argparse
import hashlib
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rle.learn.compilation import should_compile
from rle.presets import preset_config
from rle.runs import files
from rle.runs.checkpoints import Checkpoints
from rle.runs.directory import RunDirectory
from rle.runs.saving import Saving
from rle.runs.sinks.jsonl import JsonLines
from rle.runs.state import load_state
from rle.runs.trainer import Trainer
from rle.settings import replace

SAVINGS = 10


class Clock:
    """Adds up the seconds that some functions take."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def around(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def timed(*given: Any, **more: Any) -> Any:
            started = time.perf_counter()
            try:
                return function(*given, **more)
            finally:
                self.seconds += time.perf_counter() - started

        return timed


def measure(task: str, seconds: float) -> None:
    config = preset_config(task, "rle")
    config = replace(config, {"compile": "on" if should_compile(config) else "off"})
    digests, flushes, writes = Clock(), Clock(), Clock()
    hashlib.sha256 = digests.around(hashlib.sha256)  # type: ignore[assignment]
    files.os.fsync = flushes.around(os.fsync)  # type: ignore[assignment]
    # Not in /tmp, which is no disk on many machines.
    Path("runs").mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir="runs") as folder:
        run = RunDirectory.create(Path(folder) / "run", config)
        trainer, log = Trainer(config), JsonLines()
        trainer.start()
        log.on_start(run, trainer)
        save = writes.around(Saving(run, trainer, log)._save)
        trainer.iterate()  # Caches are cold.
        first, started = trainer.step, time.perf_counter()
        saved = 0
        digests.seconds = flushes.seconds = 0.0
        while saved < SAVINGS:
            metrics, episodes = trainer.iterate()
            log.on_iteration(trainer, metrics, episodes)
            share = (time.perf_counter() - started) / seconds
            for number in range(saved, min(SAVINGS, int(SAVINGS * share))):
                save(metrics, passing=number % 2 == 1)
                saved += 1
        spent = time.perf_counter() - started - writes.seconds
        steps_per_second = (trainer.step - first) / spent
        log.on_end(run, trainer)
        trainer.task.close()
        _show(task, config, steps_per_second, saved, digests, flushes, writes)
        _show_reading(run)
    hashlib.sha256, files.os.fsync = _SHA256, _FSYNC  # type: ignore[assignment]


_SHA256, _FSYNC = hashlib.sha256, os.fsync


def _show(
    task: str,
    config: Any,
    steps_per_second: float,
    saved: int,
    digests: Clock,
    flushes: Clock,
    writes: Clock,
) -> None:
    every = config.machine.checkpoint_every
    seconds = every / steps_per_second
    # In an interval: one checkpoint at its end, and one for each ten minutes of it.
    written = 1 + seconds / (60 * config.machine.checkpoint_minutes)
    print(f"{task}: {steps_per_second:,.0f} steps/s, {every:,} steps in {seconds:,.0f} s")
    for name, clock in (("SHA-256", digests), ("flushing", flushes), ("saving in all", writes)):
        each = clock.seconds / saved
        share = each * written / seconds
        print(f"  {name:13} {1000 * each:7.2f} ms per checkpoint, {share:.4%} of training time")


def _show_reading(run: RunDirectory) -> None:
    checkpoints = Checkpoints(run.path)
    step = checkpoints.steps()[-1]
    size = checkpoints.file(step).stat().st_size
    times = {}
    for name, read in (
        ("checked", lambda: checkpoints.load(step)),
        ("unchecked", lambda: load_state(checkpoints.file(step))),
    ):
        best = []
        for _ in range(5):
            started = time.perf_counter()
            read()
            best.append(time.perf_counter() - started)
        times[name] = min(best)
    text = ", ".join(f"{1000 * value:.1f} ms {name}" for name, value in times.items())
    print(f"  reading {size / 1e6:.1f} MB: {text}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tasks", nargs="*", default=["fourroom", "atari/Alien"])
    parser.add_argument("--seconds", type=float, default=60.0)
    known = parser.parse_args()
    for each in known.tasks:
        measure(each, known.seconds)
