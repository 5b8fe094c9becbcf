"""How a run's cost grows with environments and devices: measured parts, a model, and what it predicts.

    python benchmarks/scaling.py FILE.json [TASK@PRESET...] [--seconds 8] [--rounds 3]
    python benchmarks/scaling.py FILE.json --show

Each case is a process of its own with one thread per rank; cases take turns, round by round. Timed
within an iteration: rollout (with the environments' share where they are not compiled into it), bonus,
learning, reducing (all that ranks say to each other, waiting for each other included), and the rest.
The model is a line through the measurements at N and 2 N environments on one rank, part by part; the
others are for checking it.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

PARTS = ("environments", "acting", "bonus", "learning", "reducing", "rest")
WARM_UP = 3
CASES = ((1, 1), (2, 1), (4, 1), (1, 2), (2, 2))
"""Environments, in multiples of the preset's, and ranks."""
TASKS = ("fourroom@paper", "control/Ant@desktop", "atari/Breakout@desktop")


def measure_here(name: str, times: float, ranks: int, seconds: float) -> dict[str, float]:
    """Seconds of each part of an iteration of `TASK@PRESET`, in the first of `ranks` processes."""
    import rle
    from rle.presets import preset_config
    from rle.runs.callbacks import Callback
    from rle.world import World

    task, preset = name.split("@")
    config = preset_config(task, "rle", preset)
    images = task.startswith("atari/")
    # Images are slow, and nothing is compiled for them.
    warm_up = 1 if images else WARM_UP
    spent = dict.fromkeys(PARTS, 0.0)
    open_parts: list[str] = []

    def timed(owner: Any, name: str, part: str) -> None:
        inner: Callable[..., Any] = getattr(owner, name)

        def call(*given: Any, **more: Any) -> Any:
            started = time.perf_counter()
            open_parts.append(part)
            try:
                return inner(*given, **more)
            finally:
                open_parts.pop()
                passed = time.perf_counter() - started
                spent[part] += passed
                if open_parts:
                    spent[open_parts[-1]] -= passed

        setattr(owner, name, call)

    for name in ("gather", "sum", "_broadcast"):
        timed(World, name, "reducing")

    class Measure(Callback):
        iterations = 0
        started = 0.0

        def on_start(self, run: Any, trainer: Any) -> None:
            timed(trainer, "collect", "acting")
            if not trainer.task.traceable:
                timed(trainer.task, "step", "environments")
            timed(trainer.learner, "improve", "learning")
            timed(trainer.learner, "_bonus", "bonus")

        def on_iteration(self, trainer: Any, metrics: Any, episodes: Any) -> None:
            if trainer.iteration == warm_up:
                spent.update(dict.fromkeys(PARTS, 0.0))
                self.started, self.first = time.perf_counter(), trainer.iteration
            if trainer.iteration > warm_up:
                passed = time.perf_counter() - self.started
                self.iterations, self.seconds = trainer.iteration - self.first, passed
                if passed >= seconds:
                    trainer.stop("measured")

    watch = Measure()
    num_envs = round(config.environment.num_envs * times)
    with tempfile.TemporaryDirectory() as folder:
        rle.train(
            task,
            preset=preset,
            out=Path(folder) / "run",
            total_steps=10**9,
            devices=ranks,
            num_envs=num_envs,
            threads=1,
            compile="off" if images else "on",
            checkpoint_every=10**9,
            checkpoint_minutes=0,
            quiet=True,
            callbacks=[watch],
            **({} if task == "fourroom" else {"engine_threads": 1}),
        )
    found = {part: spent[part] / watch.iterations for part in PARTS}
    whole = watch.seconds / watch.iterations
    found["rest"] = whole - sum(found.values())
    return found | {
        "seconds": whole,
        "num_envs": num_envs,
        "steps": num_envs * config.learner.rollout_steps,
    }


def measure(out: Path, tasks: list[str], seconds: float, rounds: int) -> None:
    found: dict[str, list[Any]] = {}
    for task in tasks:
        cases = [case for case in CASES if case[0] < 4 or not task.startswith("atari/")]
        for turn in range(rounds):
            for times, ranks in cases:
                case = [task, str(times), str(ranks), str(seconds)]
                line = [sys.executable, __file__, str(out), "--case", *case]
                said = subprocess.run(line, check=True, capture_output=True, text=True).stdout
                found.setdefault(f"{task} {times} {ranks}", []).append(json.loads(said))
                print(f"round {turn + 1}: {task}, {times} N, {ranks} ranks", flush=True)
        out.write_text(json.dumps(found, indent=1) + "\n")


def show(path: Path) -> None:
    found = {tuple(key.split(" ")): rounds for key, rounds in json.loads(path.read_text()).items()}
    for task in dict.fromkeys(key[0] for key in found):
        cases = {(int(t), int(r)): rounds for (name, t, r), rounds in found.items() if name == task}
        middle = {case: _median(rounds) for case, rounds in cases.items()}
        one, two = middle[1, 1], middle[2, 1]
        print(f"\n{task}: milliseconds of an iteration\n")
        print(
            f"| environments | ranks | {' | '.join(PARTS)} | all | model | steps/s | against one |"
        )
        print("|---" * (len(PARTS) + 6) + "|")
        for (times, ranks), parts in middle.items():
            model = _model(one, two, times, ranks)
            rate = [one_round["steps"] / one_round["seconds"] for one_round in cases[times, ranks]]
            base = [r["steps"] / r["seconds"] for r in cases[times // ranks or 1, 1]]
            base = (
                base
                if ranks > 1 and times > 1
                else [r["steps"] / r["seconds"] for r in cases[1, 1]]
            )
            ratios = [a / b for a, b in zip(rate, base, strict=True)]
            cells = " | ".join(f"{1000 * parts[part]:.1f}" for part in PARTS)
            print(
                f"| {int(parts['num_envs'])} | {ranks} | {cells} | {1000 * parts['seconds']:.1f} | "
                f"{1000 * model:.1f} | {parts['steps'] / parts['seconds']:,.0f} | "
                f"{statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f}) |"
            )


def _median(rounds: list[dict[str, float]]) -> dict[str, float]:
    return {key: statistics.median(each[key] for each in rounds) for key in rounds[0]}


def _model(one: dict[str, float], two: dict[str, float], times: int, ranks: int) -> float:
    """Seconds of an iteration, if every part is a constant and a share per environment."""
    own = times / ranks
    return sum(one[part] + (two[part] - one[part]) * (own - 1) for part in PARTS)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", type=Path)
    parser.add_argument("tasks", nargs="*", default=list(TASKS))
    parser.add_argument("--seconds", type=float, default=8.0)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--show", action="store_true")
    parser.add_argument("--case", nargs=4, default=None, help=argparse.SUPPRESS)
    known = parser.parse_args()
    if known.case is not None:
        task, times, ranks, seconds = known.case
        print(json.dumps(measure_here(task, float(times), int(ranks), float(seconds))))
        return
    if not known.show:
        measure(known.file, known.tasks, known.seconds, known.rounds)
    show(known.file)


if __name__ == "__main__":
    main()
