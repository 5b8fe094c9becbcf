"""Whether `examples/single_file_rle.py` explores FourRoom as `rle train fourroom` does.

    python benchmarks/single_file.py [--seeds 0 1 2] [--steps 500000] [--save FILE.csv]

trains the file's agent and the package's with each seed and prints the share of the cells that each
visited. A line is saved as soon as its run is finished; runs that the file has already are not made
again. The two draw other random numbers, so a seed is another course in each: compare their means.
"""

import argparse
import contextlib
import csv
import importlib.util
import os
import sys
import tempfile
from pathlib import Path
from statistics import mean
from types import ModuleType

import rle
from rle.errors import UsageError

FILE = Path(__file__).parent.parent / "examples" / "single_file_rle.py"
FIELDS = ("agent", "seed", "steps", "coverage")
AGENTS = ("single file", "package")

Run = tuple[str, int, int]
"""Agent, seed and steps."""


def load() -> ModuleType:
    spec = importlib.util.spec_from_file_location("single_file_rle", FILE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # Dataclasses look their module up by its name.
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def coverage(agent: str, seed: int, steps: int) -> float:
    """The share of the free cells visited in `steps` steps."""
    if agent == "single file":
        single = load()
        with Path(os.devnull).open("w") as nowhere, contextlib.redirect_stdout(nowhere):
            return single.train(single.Settings(seed=seed, total_steps=steps))["coverage"]
    with tempfile.TemporaryDirectory() as folder:
        run = rle.train(
            "fourroom", seed=seed, total_steps=steps, out=Path(folder) / "run", quiet=True
        )
        return run.metrics()[-1]["coverage"]


def read(path: Path) -> dict[Run, float]:
    """The runs that are in the file."""
    if not path.exists():
        return {}
    with path.open(newline="") as file:
        lines = csv.DictReader(file)
        if tuple(lines.fieldnames or ()) != FIELDS:
            raise UsageError(f"{path} holds other things than this benchmark's runs: give another.")
        return {
            (line["agent"], int(line["seed"]), int(line["steps"])): float(line["coverage"])
            for line in lines
        }


def append(path: Path, run: Run, value: float) -> None:
    """Add a line, and the header before the first one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    new = not path.exists()
    with path.open("a", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        if new:
            writer.writerow(FIELDS)
        writer.writerow([*run, round(value, 6)])


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seeds", type=int, nargs="+", default=list(range(10)))
    parser.add_argument("--steps", type=int, default=500_000)
    parser.add_argument("--agents", nargs="+", choices=AGENTS, default=list(AGENTS))
    parser.add_argument("--save", type=Path, default=Path("runs/single-file.csv"))
    known = parser.parse_args(arguments)
    try:
        done = read(known.save)
    except UsageError as error:
        parser.error(str(error))
    for seed in known.seeds:
        for agent in known.agents:
            run = agent, seed, known.steps
            if run not in done:
                done[run] = coverage(*run)
                append(known.save, run, done[run])
            print(f"{agent:12s} seed {seed}  coverage {done[run]:.3f}", flush=True)
    for agent in known.agents:
        found = [done[agent, seed, known.steps] for seed in known.seeds]
        print(f"{agent:12s} mean of {len(found)} seeds {mean(found):.3f}")


if __name__ == "__main__":
    main(sys.argv[1:])
