"""Run directories written by hand, with numbers that can be checked in the head."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from rle.presets import preset_config
from rle.settings import replace, to_dict


def write_run(
    path: Path,
    explore: str = "rle",
    task: str = "fourroom",
    seed: int = 0,
    coverage: tuple[float, ...] = (0.25, 0.5),
    scores: tuple[float, ...] = (),
    finished: bool = True,
    **settings: Any,
) -> Path:
    """A run with one line of metrics per value of `coverage`, at 500, 1000, ... steps.

    `scores` are those of episodes that end every 100 steps, the last one at the end.
    """
    path.mkdir(parents=True)
    changes = {name.replace("__", "."): value for name, value in settings.items()}
    changes.setdefault("total_steps", 500 * len(coverage))
    # A report reads the task's name and settings, and needs no such environment installed.
    known = "gym/CartPole-v1" if task.startswith(("atari/", "gym/")) else task
    config = replace(preset_config(known, explore, seed=seed), changes)
    (path / "config.json").write_text(json.dumps(to_dict(config) | {"task": task}))
    meta: dict[str, Any] = {
        "started": "2026-01-02T03:04:05+00:00",
        "python": "3.11.7",
        "versions": {},
        "git": None,
    }
    (path / "meta.json").write_text(json.dumps(meta))
    lines = [
        {
            "iteration": number,
            "step": 500 * number,
            "coverage": value,
            "visitation_entropy": 4 * value,
            "score": sum(scores) / max(len(scores), 1),
            "seconds": float(number),
        }
        for number, value in enumerate(coverage, start=1)
    ]
    (path / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    last = 500 * len(coverage)
    episodes = [
        {"iteration": 1, "step": last - 100 * back, "env": 0, "score": score, "length": 100}
        for back, score in enumerate(reversed(scores))
    ]
    text = "".join(json.dumps(episode) + "\n" for episode in reversed(episodes))
    (path / "episodes.jsonl").write_text(text)
    if finished:
        record = {"step": last, "seconds": 2.0, "steps_per_second": 500.0, "measures": {}}
        (path / "finished.json").write_text(json.dumps(record))
    return path


def write_suite(root: Path, means: dict[str, dict[str, float]], seeds: int = 2) -> Path:
    """Runs of several tasks; the score of seed s is the mean given for task and strategy, plus s."""
    for task, by_strategy in means.items():
        for explore, mean in by_strategy.items():
            for seed in range(seeds):
                folder = root / task.replace("/", "-") / explore / f"seed-{seed}"
                write_run(folder, explore, task, seed, scores=(mean + seed, mean + seed))
    return root
