"""A study on a simulated cluster whose machines die at random: does every run finish, and what is lost?

    python -m tools.simulated_cluster [--nodes 1000] [--rate 1000] [--seed 0]

What decides which run is started next, and how often, is the package's own (`rle.studies.schedule`).
Only its executor is made up: a clock that jumps from event to event, and machines that live for
exponentially distributed times. A run on a machine that dies loses what it made since its last
checkpoint, and goes on elsewhere; the machine is back after its repair.
"""

from __future__ import annotations

import argparse
import heapq
import json
import math
import random
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from rle.config import RunConfig
from rle.runs.directory import CONFIG, FINISHED, METRICS
from rle.studies import find_study
from rle.studies.executor import Ended
from rle.studies.schedule import train_all

HOUR = 3600.0
LIVES = {
    "never": math.inf,
    "year": 8760 * HOUR,
    "30 days": 720 * HOUR,
    "7 days": 168 * HOUR,
    "day": 24 * HOUR,
    "6 hours": 6 * HOUR,
    "hour": HOUR,
}
"""Mean time between the failures of one machine."""


@dataclass(frozen=True)
class Machines:
    """What all machines of a cluster are like; times are in seconds."""

    nodes: int = 1000
    rate: float = 1000.0
    """Steps per second of a run, one of which is on a machine at a time."""
    start: float = 60.0
    """From the start of a run's process to its first step, or its first after a checkpoint."""
    checkpoint: float = 600.0
    """Between two checkpoints of a run, as `--checkpoint-minutes` has it."""
    repair: float = 3600.0


class Running(NamedTuple):
    """A run on a machine."""

    folder: str
    path: Path
    config: RunConfig
    since: float


class SimulatedExecutor:
    """Runs that take no time, on machines that live as long as `life` says each time."""

    def __init__(self, machines: Machines, life: Callable[[], float]) -> None:
        self._machines, self._life = machines, life
        self._free = list(range(machines.nodes))
        self._down = 0
        self._active: dict[int, Running] = {}
        self._events: list[tuple[float, int, str, Running | None]] = []
        self._saved: dict[str, int] = {}
        self.clock = 0.0
        self.attempts = self.deaths = self.lost = 0
        """Runs started; runs whose machine died; their steps that were made and not saved."""
        for node in self._free:
            self._at(life(), node, "dies")

    def _at(self, seconds: float, node: int, what: str, running: Running | None = None) -> None:
        """Let something happen in so many seconds."""
        if seconds < math.inf:
            heapq.heappush(self._events, (self.clock + seconds, node, what, running))

    def slots(self) -> int:
        return self._machines.nodes - self._down

    def submit(self, folder: str, config: RunConfig, path: Path) -> None:
        running = Running(folder, path, config, self.clock)
        node = self._free.pop()
        self._active[node] = running
        self.attempts += 1
        left = config.total_steps - self._saved.get(folder, 0)
        self._at(self._machines.start + left / self._machines.rate, node, "finishes", running)

    def wait(self, seconds: float) -> list[Ended]:
        self.clock, node, what, running = heapq.heappop(self._events)
        if what == "finishes":
            # Unless the machine has died since: then the run is elsewhere, or on the same one anew.
            return self._finish(node) if self._active.get(node) is running else []
        if what == "is back":
            self._down -= 1
            self._free.append(node)
            self._at(self._life(), node, "dies")
            return []
        return self._die(node)

    def _finish(self, node: int) -> list[Ended]:
        running = self._active.pop(node)
        self._free.append(node)
        running.path.mkdir(exist_ok=True)
        (running.path / CONFIG).write_text("{}")
        (running.path / FINISHED).write_text(json.dumps({"step": running.config.total_steps}))
        return [Ended(running.folder)]

    def _die(self, node: int) -> list[Ended]:
        self._down += 1
        self._at(self._machines.repair, node, "is back")
        running = self._active.pop(node, None)
        if running is None:
            self._free.remove(node)
            return []
        machines = self._machines
        trained = max(self.clock - running.since - machines.start, 0.0)
        saved = trained // machines.checkpoint * machines.checkpoint
        before = self._saved.get(running.folder, 0)
        self._saved[running.folder] = before + int(saved * machines.rate)
        step = before + int(trained * machines.rate)
        self.deaths += 1
        self.lost += step - self._saved[running.folder]
        running.path.mkdir(exist_ok=True)
        (running.path / METRICS).write_text(json.dumps({"step": step}) + "\n")
        return [Ended(running.folder, died=True)]

    def stop(self) -> None:
        """Nothing is going on but the clock."""


def simulate(
    runs: Mapping[str, RunConfig], machines: Machines, life: Callable[[], float]
) -> tuple[tuple[str, ...], SimulatedExecutor]:
    """The runs of a study that failed for good, and what the cluster went through."""
    executor = SimulatedExecutor(machines, life)
    with tempfile.TemporaryDirectory() as folder:
        failed = train_all(runs, Path(folder), runs, executor, lambda _: None)
    return failed, executor


def lives(mean: float, seed: int) -> Callable[[], float]:
    """Exponentially distributed, so that old machines die as often as new ones."""
    dice = random.Random(seed)
    return lambda: mean if mean == math.inf else dice.expovariate(1 / mean)


def main() -> None:
    """Print a table for machines of several qualities."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--nodes", type=int, default=Machines.nodes)
    parser.add_argument("--rate", type=float, default=Machines.rate, help="steps/s of a run")
    parser.add_argument("--checkpoint", type=float, default=Machines.checkpoint, help="seconds")
    parser.add_argument("--seed", type=int, default=0)
    known = parser.parse_args()
    machines = Machines(known.nodes, known.rate, checkpoint=known.checkpoint)
    runs = find_study("atari57").runs(total_steps=40_000_000)
    wanted = sum(run.total_steps for run in runs.values())
    print(f"{len(runs)} runs, {wanted:,} steps, {machines}")
    print(
        "| a machine dies every | finished | failed | machines died under a run | starts | steps lost "
        "| of all | hours |\n|---|---|---|---|---|---|---|---|"
    )
    for name, mean in LIVES.items():
        failed, cluster = simulate(runs, machines, lives(mean, known.seed))
        print(
            f"| {name} | {len(runs) - len(failed)} | {len(failed)} | {cluster.deaths} | "
            f"{cluster.attempts} | {cluster.lost:,} | {100 * cluster.lost / wanted:.3f} % | "
            f"{cluster.clock / 3600:.1f} |"
        )


if __name__ == "__main__":
    main()
