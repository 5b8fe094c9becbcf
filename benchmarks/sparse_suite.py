"""Successes on the sparse tasks by method, their aggregates, and RLE's probability of improvement.

    python benchmarks/sparse_suite.py runs/sparse-suite --save FILE.csv
    python benchmarks/sparse_suite.py FILE.csv runs/more-seeds --save FILE.csv

Of tasks that are judged by their scores (`control/…`), these, with aggregates in shares of PPO's mean.

A saved file has one line per run, so that a study's numbers outlive its run directories and seeds may be
added on another day: of a run that is given twice, the last counts.
"""

import argparse
import csv
import sys
from pathlib import Path

from rle.report.read.records import score_at_end, success_at_end
from rle.report.read.words import judged_by
from rle.runs.directory import RunDirectory
from rle.stats import (
    Interval,
    Scores,
    aggregate_interval,
    interquartile_mean,
    mean_interval,
    ppo_normalised,
    probability_of_improvement_interval,
)

SHARE = (0.0, 1.0)
Run = dict[str, str]
"""task, method, seed, steps, score (success of the last tenth, coverage, or the last 128 episodes'
score), first success (a step), by tenths (the mean over each tenth of training, of coverage what it was
at its end; earlier days did not save it).
"""
TENTHS = 10
By = dict[str, dict[str, list[float]]]
"""Scores by method and task."""
MOST_TASKS = 0.7
"""Share of the tasks that a method needs runs of to be compared."""


def measured(run: RunDirectory) -> dict[str, object]:
    """What a finished run came to."""
    last, judged = run.metrics()[-1], judged_by(run.config().task)
    episodes = run.episodes()
    successes = [line["step"] for line in episodes if judged == "success" and line["score"] > 0]
    if judged == "coverage":
        score = last["coverage"]
        reached = {_tenth(line["step"], last["step"]): line["coverage"] for line in run.metrics()}
        tenths = [reached.get(number) for number in range(TENTHS)]
    else:
        file = run.path / "episodes.jsonl"
        by_success = judged == "success"
        # No episode need end in the last tenth of a run that hardly ever ends one.
        score = (success_at_end(file, last["step"]) if by_success else score_at_end(file)) or 0.0
        ended: list[list[float]] = [[] for _ in range(TENTHS)]
        for line in episodes:
            outcome = float(line["score"] > 0) if by_success else line["score"]
            ended[_tenth(line["step"], last["step"])].append(outcome)
        tenths = [sum(some) / len(some) if some else None for some in ended]
    return {
        "steps": last["step"],
        "score": f"{score:.6g}",
        "first success": min(successes, default=""),
        "by tenths": " ".join("-" if share is None else f"{share:.3g}" for share in tenths),
    }


def _tenth(step: int, steps: int) -> int:
    return min(TENTHS * step // steps, TENTHS - 1)


def of_folder(folder: Path) -> list[Run]:
    """The finished runs below a study's folder."""
    runs: list[Run] = []
    for path in sorted(folder.glob("*/*/seed-*")):
        if path.is_dir() and (run := RunDirectory.open(path)).finished():
            seed = path.name.removeprefix("seed-")
            found = {"task": run.config().task, "method": path.parent.name, "seed": seed}
            runs.append(found | {key: str(value) for key, value in measured(run).items()})
    return runs


def of_file(path: Path) -> list[Run]:
    """The runs of a saved file."""
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def together(parts: list[list[Run]]) -> list[Run]:
    """All runs, each once, in order."""
    every = {(run["task"], run["method"], run["seed"]): run for part in parts for run in part}
    return [every[key] for key in sorted(every, key=lambda key: (key[0], key[1], int(key[2])))]


def save(runs: list[Run], path: Path) -> None:
    """One line per run."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="") as file:
        columns = dict.fromkeys(column for run in runs for column in run)
        writer = csv.DictWriter(file, list(columns), restval="", lineterminator="\n")
        writer.writeheader()
        writer.writerows(runs)


def text(interval: Interval, digits: int = 2) -> str:
    if interval.low is None or interval.high is None:
        return f"{interval.point:.{digits}f}"
    low, high = interval.limits
    return f"{interval.point:.{digits}f} [{low:.{digits}f}, {high:.{digits}f}]"


def by_method(runs: list[Run]) -> By:
    """The scores of every method on every task; none where there is no run."""
    tasks = dict.fromkeys(run["task"] for run in runs)
    found: By = {run["method"]: {task: [] for task in tasks} for run in runs}
    for run in runs:
        found[run["method"]][run["task"]].append(float(run["score"]))
    return found


def over_training(run: Run) -> Run:
    """The run with the mean over all its tenths as its score: how soon it succeeded counts as well."""
    told = [float(share) for share in run["by tenths"].split() if share != "-"]
    return run | {"score": str(sum(told) / max(len(told), 1))}


def comparable(scores: By, least: int) -> By:
    """The methods that have `least` runs on most tasks, on the tasks on which all of these have."""
    kept = {
        method: some
        for method, some in scores.items()
        if sum(len(runs) >= least for runs in some.values()) >= MOST_TASKS * len(some)
    }
    everywhere = [
        task
        for task in next(iter(kept.values()), ())
        if all(len(some[task]) >= least for some in kept.values())
    ]
    return {method: {task: some[task] for task in everywhere} for method, some in kept.items()}


def show(runs: list[Run], least: int = 1) -> None:
    """A table of tasks and methods in Markdown, the aggregates, and how RLE compares."""
    scores = by_method(runs)
    tasks = list(next(iter(scores.values()), ()))
    print(f"| task | {' | '.join(scores)} |\n|{'---|' * (len(scores) + 1)}")
    for task in tasks:
        bounds = None if judged_by(task) == "score" else SHARE
        cells = [of_method[task] for of_method in scores.values()]
        shown = [f"{text(mean_interval(c, bounds))} ({len(c)})" if c else "" for c in cells]
        print(f"| {task.removeprefix('sparse/')} | {' | '.join(shown)} |")
    kept = comparable(scores, least)
    if "rle" not in kept or not kept["rle"]:
        print(f"\nNothing to compare: no task has {least} runs of RLE and of the others.")
        return
    print(f"\nOver the {len(kept['rle'])} tasks of which each of these has {least} runs or more:")
    aggregated = {method: Scores.from_runs(method, some) for method, some in kept.items()}
    by_score = {judged_by(task) == "score" for task in kept["rle"]}
    if by_score != {False}:
        if len(by_score) > 1 or "ppo" not in kept:
            print(
                "Scores are compared in shares of PPO's: give its runs, and no successes with them."
            )
            return
        ppo = aggregated["ppo"]
        aggregated = {method: ppo_normalised(found, ppo) for method, found in aggregated.items()}
    by_rle = aggregated["rle"]
    for method, found in aggregated.items():
        line = f"{method:12s} IQM {text(aggregate_interval(interquartile_mean, found))}"
        if method != "rle":
            odds = probability_of_improvement_interval(by_rle, found)
            line += f"  RLE improves over it with probability {text(odds)}"
        print(line)


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("parts", type=Path, nargs="+", help="folders of studies, or saved files")
    parser.add_argument("--save", type=Path, metavar="FILE.csv")
    parser.add_argument("--methods", nargs="*", help="of these alone")
    parser.add_argument("--least-seeds", type=int, default=1, help="of a task that is aggregated")
    parser.add_argument(
        "--over-training",
        action="store_true",
        help="scores over the whole training, not at its end",
    )
    known = parser.parse_args(arguments)
    runs = together([of_file(p) if p.is_file() else of_folder(p) for p in known.parts])
    if known.save is not None:
        save(runs, known.save)
    chosen = [run for run in runs if not known.methods or run["method"] in known.methods]
    if known.over_training:
        chosen = [over_training(run) for run in chosen if run["by tenths"]]
    show(chosen, known.least_seeds)


if __name__ == "__main__":
    main(sys.argv[1:])
