"""Coverage early and late, success, and RLE's lead over every other method of a FourRoom study.

python benchmarks/fourroom_leads.py runs/fourroom-reward-free
"""

import sys
from pathlib import Path

from rle.runs.directory import RunDirectory
from rle.stats import Interval, difference_interval, mean_interval

EARLY = 504_000
"""Steps of the early look: the first iteration after 500 k."""
SHARE = (0.0, 1.0)


def measures(run: RunDirectory) -> dict[str, float]:
    """Coverage after 500 k steps and at the end, and success in the last tenth of training."""
    metrics = run.metrics()
    last = metrics[-1]
    early = [line for line in metrics if line["step"] <= EARLY][-1]
    tail = [line["score"] for line in run.episodes() if line["step"] > 0.9 * last["step"]]
    return {
        "coverage at 500 k": early["coverage"],
        "coverage at the end": last["coverage"],
        "success": sum(tail) / len(tail) if tail else 0.0,
    }


def text(interval: Interval) -> str:
    low, high = interval.limits
    return f"{interval.point:+.3f} [{low:+.3f}, {high:+.3f}]"


def main(folder: Path) -> None:
    found: dict[str, list[dict[str, float]]] = {}
    for path in sorted(folder.glob("*/*/seed-*")):
        if path.is_dir() and (run := RunDirectory.open(path)).finished():
            found.setdefault(path.parent.name, []).append(measures(run))
    for name in next(iter(found.values()))[0]:
        print(f"\n{name}")
        values = {method: [run[name] for run in runs] for method, runs in found.items()}
        for method, seeds in sorted(values.items(), key=lambda item: -sum(item[1]) / len(item[1])):
            lead = difference_interval(values["rle"], seeds, SHARE) if method != "rle" else None
            print(
                f"  {method:20s} {len(seeds):2d} seeds {text(mean_interval(seeds, SHARE))}"
                f"  RLE leads by {'' if lead is None else text(lead)}"
                f"  above 0.9: {sum(value > 0.9 for value in seeds)}"
            )


if __name__ == "__main__":
    main(Path(sys.argv[1]))
