"""What a run costs on other machines, and a study on many of them: a model from measured parts.

    python -m tools.cost_model

An iteration of a run on R ranks takes

    rollout + learning, each a constant and a share per environment of a rank
    + reducing: messages · latency + 2 (R - 1) / R · bytes / bandwidth

and a study as long as its longest queue of runs, with a start for each. The parts that belong to a
machine are given by `Machine`; those of this page's machine were measured (`benchmarks/scaling.py`),
those of a GPU are assumed, and said to be.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

DAY = 86400.0


@dataclass(frozen=True)
class Work:
    """What a task asks for."""

    num_envs: int
    rollout_steps: int
    gradient_steps: int
    """Of an iteration."""
    parameters: int
    lockstep: bool = False
    """Whether ranks wait for each other at every step: observations are normalised by what all see."""

    @property
    def transitions(self) -> int:
        """Of an iteration."""
        return self.num_envs * self.rollout_steps


@dataclass(frozen=True)
class Machine:
    """Seconds per transition, and between ranks."""

    rollout: float
    """Environment and acting."""
    learning: float
    """All epochs."""
    latency: float = 100e-6
    """Of one message between all ranks."""
    bandwidth: float = 1e9
    """Bytes per second."""


def iteration(work: Work, machine: Machine, ranks: int = 1) -> float:
    """Seconds of an iteration split over `ranks`."""
    own = (machine.rollout + machine.learning) * work.transitions / ranks
    if ranks == 1:
        return own
    messages = work.gradient_steps + (work.rollout_steps if work.lockstep else 0)
    ring = 2 * (ranks - 1) / ranks
    sent = ring * 4 * work.parameters * work.gradient_steps / machine.bandwidth
    # Whatever the network, each message goes round all ranks.
    return own + messages * machine.latency * math.log2(2 * ranks) + sent


def rate(work: Work, machine: Machine, ranks: int = 1) -> float:
    """Agent steps per second."""
    return work.transitions / iteration(work, machine, ranks)


def study_days(
    runs: int, steps: int, work: Work, machine: Machine, devices: int, start: float = 30.0
) -> tuple[int, float]:
    """The ranks of each run that finish a study soonest on so many devices, and the days it takes."""
    ranks = 1
    best = (1, math.inf)
    while ranks <= min(devices, work.num_envs):
        queue = math.ceil(runs / (devices // ranks))
        seconds = queue * (start + steps / rate(work, machine, ranks))
        if seconds < best[1] * (1 - 1e-9):
            best = (ranks, seconds)
        ranks *= 2
    return best[0], best[1] / DAY


ATARI = Work(num_envs=128, rollout_steps=128, gradient_steps=16, parameters=4_200_000)
ROBOT = Work(num_envs=4096, rollout_steps=16, gradient_steps=40, parameters=300_000, lockstep=True)


def table(name: str, runs: int, steps: int, work: Work, machine: Machine) -> list[str]:
    """Lines of a table: devices, ranks per run, days, device-hours, and what they cost in waiting."""
    lines = [
        f"\n{name}: {runs} runs of {steps:,} steps",
        "| devices | ranks per run | steps/s of a run | days | device-hours | efficiency |",
        "|---|---|---|---|---|---|",
    ]
    alone = runs * steps / rate(work, machine) / 3600
    for devices in (1, 8, 64, 512):
        ranks, days = study_days(runs, steps, work, machine, devices)
        hours = days * 24 * devices
        lines.append(
            f"| {devices} | {ranks} | {rate(work, machine, ranks):,.0f} | {days:,.1f} | {hours:,.0f} | "
            f"{alone / hours:.0%} |"
        )
    return lines


def main() -> None:
    core = Machine(rollout=1 / 900, learning=1 / 430)
    gpu = Machine(rollout=1 / 9000, learning=1 / 12000, latency=30e-6, bandwidth=20e9)
    for what, machine in (("a CPU core", core), ("a GPU with eight cores, assumed", gpu)):
        print("\n".join(table(f"Atari grid, each device {what}", 1140, 40_000_000, ATARI, machine)))


if __name__ == "__main__":
    main()
