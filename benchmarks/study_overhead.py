"""What a study adds to a run, in seconds and as a share of a run of a minute, against `rle train`.

    python benchmarks/study_overhead.py [--seconds 5] [--repeats 2] [--executors local ray]

The same short run, on one core, is timed from the start of its process to its end: by `rle train`, and
as the time that one more run adds to a study of processes of this machine, and to one on `--ray local`.
That is the difference between a study of `MANY` runs, one after the other, and a study of one, over the
runs between them: so what a study does once (starting Ray among it) is told apart, and shown beside it.
All are repeated in turn, and medians shown. Needs the extra `ray` for `ray`; an idle machine for both.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

MANY = 4
TASK = "fourroom"
SETTINGS = {"compile": "off", "threads": "1"}
STUDY = """
name = "overhead"
tasks = ["{task}"]
seeds = {seeds}
total_steps = {steps}
cpus_per_run = 1

[[methods]]
name = "rle"
explore = "rle"
settings = {{ compile = "off", threads = 1 }}
"""
OF_EXECUTORS = {"local": ["--workers", "1"], "ray": ["--ray", "local"]}
MINUTE = 60.0
BAR = 0.05


def seconds_of(*arguments: str, folder: Path) -> float:
    """From the start of a command to its end."""
    # One run at a time, everywhere: what is compared is not how many fit. Ray humbles its processes.
    environment = os.environ | {
        "OMP_NUM_THREADS": "1",
        "RLE_CORES": "1",
        "RAY_worker_niceness": "0",
    }
    started = time.perf_counter()
    subprocess.run(
        [sys.executable, "-m", "rle", *arguments],
        cwd=folder,
        env=environment,
        check=True,
        stdout=subprocess.DEVNULL,
    )
    return time.perf_counter() - started


def bare(steps: int) -> tuple[float, float]:
    """Of a run by itself: seconds from start to end, and the steps per second of its training."""
    settings = [part for name, value in SETTINGS.items() for part in (f"--{name}", value)]
    with tempfile.TemporaryDirectory() as folder:
        line = ["train", TASK, "--explore", "rle", "--total-steps", str(steps), *settings]
        seconds = seconds_of(*line, "--out", "run", folder=Path(folder))
        closing = json.loads((Path(folder) / "run" / "finished.json").read_text())
    return seconds, closing["steps_per_second"]


def of_study(executor: str, seeds: int, steps: int) -> float:
    """A study of as many runs as seeds."""
    with tempfile.TemporaryDirectory() as folder:
        declared = Path(folder) / "overhead.toml"
        declared.write_text(STUDY.format(task=TASK, seeds=seeds, steps=steps))
        line = ["study", declared.name, "--out", "out", *OF_EXECUTORS[executor]]
        return seconds_of(*line, folder=Path(folder))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=5.0, help="of training in each run")
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--executors", nargs="+", default=list(OF_EXECUTORS), choices=OF_EXECUTORS)
    known = parser.parse_args()
    steps = int(bare(32_768)[1] * known.seconds)
    times: dict[str, list[float]] = {"train": []}
    for _ in range(known.repeats):
        times["train"].append(bare(steps)[0])
        for executor in known.executors:
            for seeds in (1, MANY):
                times.setdefault(f"{executor} {seeds}", []).append(of_study(executor, seeds, steps))
    medians = {name: statistics.median(each) for name, each in times.items()}
    alone = medians["train"]
    print(f"rle train, {steps:,} steps: {alone:.2f} s")
    print(
        "| executor | a run of a study, s | more than by itself, s | of a minute | once per study, s |"
    )
    print("|---|---|---|---|---|")
    for executor in known.executors:
        one, many = medians[f"{executor} 1"], medians[f"{executor} {MANY}"]
        per_run = (many - one) / (MANY - 1)
        share = (per_run - alone) / MINUTE
        verdict = "" if share < BAR else f", above the bar of {BAR:.0%}"
        print(
            f"| {executor} | {per_run:.2f} | {per_run - alone:+.2f} | {share:.1%}{verdict} | "
            f"{one - per_run:.2f} |"
        )


if __name__ == "__main__":
    main()
