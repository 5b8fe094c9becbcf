"""Run directories written by hand, with numbers that can be checked in the head."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from rle.presets import preset_config
from rle.settings import replace, to_dict
from rle.stats import atari_reference_scores
from rle.studies import Study

Fields = dict[str, Any]


def write_run(
    path: Path,
    explore: str = "rle",
    task: str = "fourroom",
    seed: int = 0,
    coverage: tuple[float, ...] = (0.25, 0.5),
    scores: tuple[float, ...] = (),
    finished: bool = True,
    more: Sequence[Fields] = (),
    **settings: Any,
) -> Path:
    """A run with one line of metrics per value of `coverage`, at 500, 1000, ... steps.

    `more` has further fields of each line. `scores` are those of episodes that end every 100 steps,
    the last one at the end.
    """
    changes = {name.replace("__", "."): value for name, value in settings.items()}
    changes.setdefault("total_steps", 500 * len(coverage))
    # A report reads the task's name and settings, and needs no such environment installed.
    known = "gym/CartPole-v1" if task.startswith(("atari/", "gym/")) else task
    config = replace(preset_config(known, explore, seed=seed), changes)
    metrics = [
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
    for line, fields in zip(metrics, more, strict=False):
        line |= fields
    last = 500 * len(coverage)
    episodes = [
        {"iteration": 1, "step": last - 100 * back, "env": 0, "score": score, "length": 100}
        for back, score in enumerate(reversed(scores))
    ]
    return _write(path, to_dict(config) | {"task": task}, metrics, episodes[::-1], finished)


def _write(
    path: Path, config: Fields, metrics: list[Fields], episodes: list[Fields], finished: bool
) -> Path:
    path.mkdir(parents=True)
    (path / "config.json").write_text(json.dumps(config))
    meta = {"started": "2026-01-02T03:04:05+00:00", "python": "3.11.7", "versions": {}, "git": None}
    (path / "meta.json").write_text(json.dumps(meta))
    for name, lines in (("metrics", metrics), ("episodes", episodes)):
        text = "".join(json.dumps(line) + "\n" for line in lines)
        (path / f"{name}.jsonl").write_text(text)
    if finished:
        last = metrics[-1]["step"]
        record = {"step": last, "seconds": 2.0, "steps_per_second": 500.0, "measures": {}}
        (path / "finished.json").write_text(json.dumps(record))
    return path


def write_study(root: Path, study: Study, score: Callable[[str, str, int], float]) -> Path:
    """The runs of a study with two seeds, in its own settings.

    `score` gives the final one from task, method and seed. It is recorded at each quarter of the
    training, to which it grows evenly from that of a random player.
    """
    for folder, config in study.runs(seeds=2).items():
        game = config.task.removeprefix("atari/")
        random = atari_reference_scores()[game].random if game != config.task else 0.0
        final = score(config.task, folder.split("/")[1], config.seed)
        metrics = [
            {
                "iteration": quarter,
                "step": config.total_steps * quarter // 4,
                "score": random + (final - random) * quarter / 4,
            }
            for quarter in (1, 2, 3, 4)
        ]
        ending = {"iteration": 4, "step": config.total_steps, "env": 0, "score": final}
        _write(root / folder, to_dict(config), metrics, [ending], finished=True)
    return root


def write_suite(root: Path, means: dict[str, dict[str, float]], seeds: int = 2) -> Path:
    """Runs of several tasks; the score of seed s is the mean given for task and strategy, plus s."""
    for task, by_strategy in means.items():
        for explore, mean in by_strategy.items():
            for seed in range(seeds):
                folder = root / task.replace("/", "-") / explore / f"seed-{seed}"
                write_run(folder, explore, task, seed, scores=(mean + seed, mean + seed))
    return root
