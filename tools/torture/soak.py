"""Does memory grow? Trains for as long as asked, and samples the resident memory of the process.

    python -m tools.torture.soak fourroom --minutes 60 --out build/soak-fourroom
    python -m tools.torture.soak atari/Breakout --minutes 60 --out build/soak-breakout [any setting]

The true command `rle train` runs in a process of its own; every few seconds its memory, and that of its
children, becomes a line of `memory.csv`, so that nothing is lost if the machine stops. The same command
goes on with a soak that was stopped: `rle resume` in a new process, whose first minutes are left out
again. `memory.png` shows the curve. The exit status is 1 if memory grew by 1 % or more, or if training
ended by itself.
"""

from __future__ import annotations

import argparse
import csv
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

FIELDS = ("process", "seconds", "megabytes", "step")
LIMIT = 0.01
"""The share by which memory may grow once it has settled."""
WINDOW = 0.1
"""Share of the settled time at its beginning and at its end whose median is compared: for moments,
pages that were freed are missing."""
ENDLESS = "1000000000000"


class Sample(NamedTuple):
    """One look at a process."""

    process: int
    """The how many-th of this soak."""
    seconds: float
    """Since all processes together began."""
    megabytes: float
    """Resident, of the process and all that it started."""
    step: int


def resident(pid: int) -> float:
    """Megabytes that a process and its descendants hold in memory."""
    pages = 0
    family = [pid]
    while family:
        one = Path(f"/proc/{family.pop()}")
        try:
            pages += int((one / "statm").read_text().split()[1])
            for task in (one / "task").iterdir():
                family += map(int, (task / "children").read_text().split())
        except OSError:
            continue
    return pages * resource.getpagesize() / 1e6


def last_step(run: Path) -> int:
    """Steps made, by the end of the log: only that is read, since the log is long."""
    try:
        with (run / "metrics.jsonl").open("rb") as log:
            log.seek(max(0, log.seek(0, 2) - 8192))
            lines = log.read().splitlines()
    except OSError:
        return 0
    steps = [line.partition(b'"step": ')[2].partition(b",")[0] for line in lines]
    return max((int(step) for step in steps if step.isdigit()), default=0)


def read(path: Path) -> list[Sample]:
    """The samples so far; a last line cut short is left out."""
    if not path.exists():
        return []
    with path.open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if all(row.get(name) for name in FIELDS)]
    return [
        Sample(
            int(row["process"]), float(row["seconds"]), float(row["megabytes"]), int(row["step"])
        )
        for row in rows
    ]


def growth(samples: Sequence[Sample], settle: float) -> tuple[float, float] | None:
    """Median megabytes when the last process had settled, and at its end; None if it was too short."""
    own = [sample for sample in samples if sample.process == samples[-1].process]
    settled = [sample for sample in own if sample.seconds - own[0].seconds >= settle]
    if len(settled) < 20:
        return None
    count = max(1, round(WINDOW * len(settled)))
    values = [sample.megabytes for sample in settled]
    return float(np.median(values[:count])), float(np.median(values[-count:]))


def sample_until(process: subprocess.Popen[bytes], end: float, every: float, out: Path) -> None:
    """Write a line every so often until the soak has lasted so long, or the process is over."""
    before = read(out / "memory.csv")
    number, behind = (before[-1].process + 1, before[-1].seconds) if before else (1, 0.0)
    started = time.monotonic()
    with (out / "memory.csv").open("a", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        if not before:
            writer.writerow(FIELDS)
        while process.poll() is None and (passed := time.monotonic() - started) + behind < end:
            megabytes = resident(process.pid)
            sample = Sample(
                number, round(behind + passed, 1), round(megabytes, 2), last_step(out / "run")
            )
            writer.writerow(sample)
            file.flush()
            time.sleep(every)


def draw_curve(samples: Sequence[Sample], task: str, path: Path) -> None:
    """The memory of every process over minutes."""
    from rle.report.draw.figures import CurveFigure, Series
    from rle.report.draw.render import draw
    from rle.report.draw.style import assign_styles

    numbers = sorted({sample.process for sample in samples})
    labels = {number: f"process {number}" for number in numbers}
    styles = assign_styles(list(labels.values()))
    series = []
    for number, label in labels.items():
        own = [sample for sample in samples if sample.process == number]
        minutes = np.array([sample.seconds / 60 for sample in own])
        series.append(
            Series(label, styles[label], minutes, np.array([sample.megabytes for sample in own]))
        )
    figure = CurveFigure(
        name="memory",
        title=f"Memory while {task} is trained",
        caption="Resident memory of the process and all that it started.",
        y_label="megabytes",
        series=tuple(series),
        limits=(0.0, 1.1 * max(sample.megabytes for sample in samples)),
        digits=1,
        x_label="minutes",
        x_digits=0,
    )
    path.write_bytes(draw(figure, figure.name).png)


def main(arguments: list[str]) -> int:
    """Returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("task")
    parser.add_argument("--minutes", type=float, default=60.0, help="in all, with earlier ones")
    parser.add_argument("--settle", type=float, default=10.0, help="minutes that do not count")
    parser.add_argument("--every", type=float, default=5.0, help="seconds between samples")
    parser.add_argument("--out", type=Path, required=True)
    known, settings = parser.parse_known_args(arguments)
    known.out.mkdir(parents=True, exist_ok=True)
    run = known.out / "run"
    train = ["train", known.task, "--total-steps", ENDLESS, *settings, "--out", str(run)]
    command = ["resume", str(run)] if (run / "config.json").exists() else train
    with (known.out / "log.txt").open("a") as log:
        process = subprocess.Popen([sys.executable, "-m", "rle", *command], stdout=log, stderr=log)
        try:
            sample_until(process, 60 * known.minutes, known.every, known.out)
        finally:
            by_itself = process.poll()
            if by_itself is None:
                process.send_signal(signal.SIGTERM)
                process.wait()
    samples = read(known.out / "memory.csv")
    if by_itself is not None or not samples:
        print(f"training ended by itself, with status {by_itself}: see {known.out / 'log.txt'}")
        return 1
    draw_curve(samples, known.task, known.out / "memory.png")
    return _say(samples, known.settle)


def _say(samples: Sequence[Sample], settle: float) -> int:
    found = growth(samples, 60 * settle)
    minutes, steps = samples[-1].seconds / 60, samples[-1].step
    print(f"{minutes:.1f} minutes, {steps:,} steps, {samples[-1].process} processes")
    if found is None:
        print(f"too short to say how memory grows after the first {settle:g} minutes")
        return 0
    first, last = found
    share = last / first - 1
    print(
        f"resident memory after {settle:g} minutes {first:.1f} MB, at the end {last:.1f} MB: "
        f"{share:+.2%}, {'less than' if share < LIMIT else 'NOT less than'} {LIMIT:.0%}"
    )
    return int(share >= LIMIT)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
