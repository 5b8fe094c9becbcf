"""Bootstrap intervals beside `rliable`, in the same run: seconds and their ratio.

    python benchmarks/stats_speed.py

2000 resamples of 5 runs x 57 tasks. `rliable` takes about two minutes for its part of this.
"""

import argparse
import time
from collections.abc import Callable

import numpy as np
from rliable import library, metrics

from rle.stats import (
    Bootstrap,
    aggregate_interval,
    interquartile_mean,
    probability_of_improvement_interval,
)

RUNS, TASKS = 5, 57


def seconds(job: Callable[[], object], patience: float = 2.0) -> float:
    """The shortest wall time of as many calls as fit into `patience` seconds, at least one.

    Anything longer is other work on the machine.
    """
    times: list[float] = []
    while sum(times) < patience:
        began = time.perf_counter()
        job()
        times.append(time.perf_counter() - began)
    return min(times)


def main() -> None:
    """Print a Markdown table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--resamples", type=int, default=2000)
    resamples = parser.parse_args().resamples
    rng = np.random.default_rng(0)
    ours = rng.lognormal(size=(RUNS, TASKS))
    rivals = rng.lognormal(size=(RUNS, TASKS))
    # The method of `rliable`; the default has limits of its own for a probability.
    bootstrap = Bootstrap(method="percentile", resamples=resamples)
    jobs: dict[str, tuple[Callable[[], object], Callable[[], object]]] = {
        "IQM": (
            lambda: aggregate_interval(interquartile_mean, ours, bootstrap),
            lambda: library.get_interval_estimates(
                {"ours": ours},
                lambda scores: np.array([metrics.aggregate_iqm(scores)]),
                reps=resamples,
            ),
        ),
        "probability of improvement": (
            lambda: probability_of_improvement_interval(ours, rivals, bootstrap),
            lambda: library.get_interval_estimates(
                {"ours": (ours, rivals)},
                lambda first, second: np.array([metrics.probability_of_improvement(first, second)]),
                reps=resamples,
            ),
        ),
    }
    print(f"{resamples} resamples of {RUNS} runs x {TASKS} tasks\n")
    print("| interval of | rle.stats, s | rliable, s | ratio |")
    print("|---|---:|---:|---:|")
    totals = np.zeros(2)
    for name, (here, there) in jobs.items():
        here()  # The first call pays for caches and imports.
        pair = np.array([seconds(here), seconds(there)])
        totals += pair
        print(f"| {name} | {pair[0]:.4f} | {pair[1]:.2f} | {pair[1] / pair[0]:.0f} |", flush=True)
    print(f"| both | {totals[0]:.4f} | {totals[1]:.2f} | {totals[1] / totals[0]:.0f} |")


if __name__ == "__main__":
    main()
