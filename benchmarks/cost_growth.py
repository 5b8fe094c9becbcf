"""How the cost of a step grows with environments, width of the networks and size of z, on FourRoom.

    python benchmarks/cost_growth.py [--seconds 4] [--rounds 3]

All cases take turns, each in a process of its own with one thread. What is printed is the processor's
time per step and its ratio to the first case's within a round: the median, the lowest, the highest.
"""

import argparse
import statistics
import sys
from typing import Any

from rle.presets import preset_config
from rle.runs.bench import _asked, _processes
from rle.runs.contenders import OurContender
from rle.settings import replace

CASES: dict[str, dict[str, Any]] = {
    "RLE, 32 environments, 64 wide, d 4": {},
    "256 environments": {"num_envs": 256},
    "2048 environments": {"num_envs": 2048},
    "256 wide": {"policy_hidden": (256, 256), "value_hidden": (256, 256)},
    "d 32": {"rle.dimension": 32},
    "d 128": {"rle.dimension": 128},
}


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=4.0)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--cases", nargs="*", help="of these alone, and the first")
    known = parser.parse_args(arguments)
    base = replace(preset_config("fourroom", "rle"), {"compile": "on", "threads": 1})
    first = next(iter(CASES))
    chosen = {
        label: (OurContender, replace(base, changes))
        for label, changes in CASES.items()
        if not known.cases or label == first or label in known.cases
    }
    spent: dict[str, list[float]] = {label: [] for label in chosen}
    with _processes(chosen, warm_up=5) as pipes:
        for _ in range(known.rounds):
            for label, pipe in pipes.items():
                measured = _asked(pipe, "run", known.seconds)
                spent[label].append(measured.core_seconds / measured.steps)
    for label, found in spent.items():
        ratios = [mine / one for mine, one in zip(found, spent[first], strict=True)]
        print(
            f"{label:36}{1e6 * statistics.median(found):8.1f} us a step, "
            f"{statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})",
            flush=True,
        )


if __name__ == "__main__":
    main(sys.argv[1:])
