"""Coverage early and late, success, and RLE's lead over every other method of a FourRoom study.

    python benchmarks/fourroom_leads.py runs/fourroom-reward-free [--save FILE.csv]
    python benchmarks/fourroom_leads.py docs/results/data/fourroom-sparse.csv

A saved file has one line per run, so that a study's numbers outlive its run directories.
"""

import argparse
import csv
import sys
from pathlib import Path

from rle.runs.directory import RunDirectory
from rle.stats import Interval, difference_interval, mean_interval

EARLY = 504_000
"""Steps of the early look: the first iteration after 500 k."""
SHARE = (0.0, 1.0)
Run = dict[str, str | float]


def measures(run: RunDirectory) -> dict[str, float]:
    """Coverage after 500 k steps and at the end, and success in the last tenth of training."""
    metrics = run.metrics()
    last = metrics[-1]
    early = [line for line in metrics if line["step"] <= EARLY][-1]
    tail = [line["score"] for line in run.episodes() if line["step"] > 0.9 * last["step"]]
    return {
        "coverage at 500 k": early["coverage"],
        "coverage at the end": last["coverage"],
        "visitation entropy": last["visitation_entropy"],
        "success": sum(tail) / len(tail) if tail else 0.0,
    }


def of_folder(folder: Path) -> list[Run]:
    """The finished runs below a study's folder."""
    runs: list[Run] = []
    for path in sorted(folder.glob("*/*/seed-*")):
        if path.is_dir() and (run := RunDirectory.open(path)).finished():
            seed = int(path.name.removeprefix("seed-"))
            runs.append({"method": path.parent.name, "seed": seed, **measures(run)})
    return runs


def of_file(path: Path) -> list[Run]:
    """The runs of a saved file."""
    with path.open(newline="") as file:
        return [
            {key: value if key == "method" else float(value) for key, value in line.items()}
            for line in csv.DictReader(file)
        ]


def save(runs: list[Run], path: Path) -> None:
    """One line per run."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(runs[0]), lineterminator="\n")
        writer.writeheader()
        for run in runs:
            writer.writerow({k: round(v, 6) if isinstance(v, float) else v for k, v in run.items()})


def text(interval: Interval) -> str:
    low, high = interval.limits
    return f"{interval.point:+.3f} [{low:+.3f}, {high:+.3f}]"


def show(runs: list[Run]) -> None:
    """Every measure of every method, and RLE's lead over it."""
    methods = list(dict.fromkeys(str(run["method"]) for run in runs))
    for name in [key for key in runs[0] if key not in ("method", "seed")]:
        print(f"\n{name}")
        values = {m: [float(run[name]) for run in runs if run["method"] == m] for m in methods}
        for method, seeds in sorted(values.items(), key=lambda item: -sum(item[1]) / len(item[1])):
            if name == "visitation entropy":
                print(f"  {method:20s} {len(seeds):2d} seeds {sum(seeds) / len(seeds):.2f}")
                continue
            lead = difference_interval(values["rle"], seeds, SHARE) if method != "rle" else None
            print(
                f"  {method:20s} {len(seeds):2d} seeds {text(mean_interval(seeds, SHARE))}"
                f"  RLE leads by {'' if lead is None else text(lead)}"
                f"  above 0.9: {sum(value > 0.9 for value in seeds)}"
            )


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("study", type=Path, help="a study's folder, or a file saved before")
    parser.add_argument("--save", type=Path, metavar="FILE.csv")
    known = parser.parse_args(arguments)
    runs = of_file(known.study) if known.study.is_file() else of_folder(known.study)
    if known.save is not None:
        save(runs, known.save)
    show(runs)


if __name__ == "__main__":
    main(sys.argv[1:])
