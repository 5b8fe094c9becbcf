"""What a run costs on other machines, and a study on many of them: a model from measured parts.

    python -m tools.cost_model

An iteration of a run on R ranks takes

    its transitions / R, each at the cost of environment, acting, bonus and learning
    + reducing: messages · latency · log2(2 R) + 2 (R - 1) / R · bytes / bandwidth

and a study as long as its longest queue of runs, each with a start and its savings. What a transition
costs was measured on a core of this page's machine (`benchmarks/scaling.py`); of a GPU it is only said
what it could do at most, if everything but the environments cost nothing.
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
class Device:
    """Seconds that one transition takes there, and what ranks take to talk."""

    environments: float
    acting: float = 0.0
    bonus: float = 0.0
    learning: float = 0.0
    """In all epochs."""
    saving: float = 0.001
    """Share of the time that checkpoints take."""
    latency: float = 1.5e-3
    """Of one message: gloo between two busy cores, with what ranks wait for each other."""
    bandwidth: float = 0.3e9
    """Bytes per second, the same."""

    @property
    def transition(self) -> float:
        """Everything that a transition takes."""
        return self.environments + self.acting + self.bonus + self.learning


def iteration(work: Work, device: Device, ranks: int = 1) -> float:
    """Seconds of an iteration split over `ranks`."""
    own = device.transition * work.transitions / ranks
    if ranks == 1:
        return own
    messages = work.gradient_steps + (work.rollout_steps if work.lockstep else 0)
    sent = 2 * (ranks - 1) / ranks * 4 * work.parameters * work.gradient_steps
    # Whatever the network, each message reaches all ranks in that many rounds at best.
    return own + messages * device.latency * math.log2(2 * ranks) + sent / device.bandwidth


def rate(work: Work, device: Device, ranks: int = 1) -> float:
    """Agent steps per second."""
    return work.transitions / iteration(work, device, ranks)


def study_days(
    runs: int, steps: int, work: Work, device: Device, devices: int, start: float = 30.0
) -> tuple[int, float]:
    """The ranks of each run that finish a study soonest on so many devices, and the days it takes."""
    best = (1, math.inf)
    ranks = 1
    while ranks <= min(devices, work.num_envs):
        queue = math.ceil(runs / (devices // ranks))
        training = steps / rate(work, device, ranks) / (1 - device.saving)
        seconds = queue * (start + training)
        if seconds < best[1] * (1 - 1e-9):
            best = (ranks, seconds)
        ranks *= 2
    return best[0], best[1] / DAY


def table(runs: int, steps: int, work: Work, device: Device) -> list[str]:
    """Lines of a table: devices, ranks per run, days, and how much of the devices' time is training."""
    lines = [
        "| devices | ranks per run | steps/s of a run | days | device-hours | efficiency |",
        "|---|---|---|---|---|---|",
    ]
    alone = runs * steps * device.transition / 3600
    for devices in (8, 64, 512):
        ranks, days = study_days(runs, steps, work, device, devices)
        hours = days * 24 * devices
        lines.append(
            f"| {devices} | {ranks} | {rate(work, device, ranks):,.0f} | {days:,.1f} | {hours:,.0f} | "
            f"{alone / hours:.0%} |"
        )
    return lines


ATARI = Work(num_envs=128, rollout_steps=128, gradient_steps=16, parameters=1_616_692)
ROBOT = Work(num_envs=4096, rollout_steps=16, gradient_steps=8, parameters=686_690)

# Seconds on one core, medians (benchmarks/scaling.py, docs/scaling.md). Atari's paper preset makes four
# epochs where `desktop`, which was measured, makes one. A robot's networks were not measured at the
# paper's size: learning is that of `desktop`, as much longer as there are more parameters.
ATARI_CORE = Device(0.80e-3, 0.83e-3, 0.004e-3, 4 * 0.99e-3)
ROBOT_CORE = Device(0.30e-3, 0.03e-3, 0.002e-3, 0.02e-3 * 686_690 / 27_746 * 4 / 5)
GPU_CORES = 8


def main() -> None:
    """Print all tables."""
    for name, runs, steps, work, core in (
        ("Atari grid", 1140, 40_000_000, ATARI, ATARI_CORE),
        ("Nine robots", 9 * 4 * 5, 100_000_000, ROBOT, ROBOT_CORE),
    ):
        limit = Device(core.environments / GPU_CORES, latency=30e-6, bandwidth=20e9)
        print(f"\n{name}: {runs} runs of {steps:,} steps on CPU cores\n")
        print("\n".join(table(runs, steps, work, core)))
        print(f"\nThe same on GPUs with {GPU_CORES} cores each, at most\n")
        print("\n".join(table(runs, steps, work, limit)))


if __name__ == "__main__":
    main()
