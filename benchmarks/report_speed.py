"""Time, memory and page size of a report of the paper's whole Atari grid: 1140 runs.

    python benchmarks/report_speed.py [--folder DIR] [--games 57] [--seeds 5]

Writes run directories of the size a real run has, 57 games x 4 methods x 5 seeds of 40 M steps
(2441 iterations of 128 environments x 128 steps; some 25 000 episodes), about 4 GB in all, and
reports on them in a process of its own. The scores are made up: they rise from a random player's to
somewhere around the paper's. Beginnings of episode logs are shared between the runs of a game.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from rle.presets import preset_config
from rle.settings import to_dict
from rle.stats import atari_reference_scores, paper_atari_scores

METHODS = {"rle": "rle", "ppo": "none", "rnd": "rnd", "noisynet": "noisy"}
ENVIRONMENTS, ROLLOUT, ITERATIONS, WINDOW = 128, 128, 2441, 128
STEPS = ENVIRONMENTS * ROLLOUT * ITERATIONS
MEASURED = (
    "bonus_rle_mean",
    "bonus_rle_std",
    "bonus_rle_min",
    "bonus_rle_max",
    "advantage_share_task",
    "advantage_share_rle",
    "explained_variance_task",
    "explained_variance_rle",
    "value_loss_task",
    "value_loss_rle",
    "policy_loss",
    "entropy",
    "approximate_kl",
    "clip_fraction",
    "gradient_norm",
    "latent_sensitivity",
    "rle_feature_movement",
)


def other_fields(rng: np.random.Generator) -> list[str]:
    """The end of every line of metrics: what a report of so many tasks does not draw."""
    values = rng.normal(size=(ITERATIONS, len(MEASURED)))
    return [
        ", ".join(f'"{name}": {value!r}' for name, value in zip(MEASURED, row, strict=True))
        + f', "seconds": {17.3 * number:.4f}}}\n'
        for number, row in enumerate(values.tolist(), start=1)
    ]


def episode_lines(steps: np.ndarray, scores: np.ndarray, length: int) -> str:
    """Episodes as a run writes them."""
    iterations = steps // (ENVIRONMENTS * ROLLOUT) + 1
    return "".join(
        f'{{"iteration": {iteration}, "step": {step}, "env": {step % ENVIRONMENTS}, '
        f'"score": {score}, "length": {length}}}\n'
        for iteration, step, score in zip(
            iterations.tolist(), steps.tolist(), scores.round(1).tolist(), strict=True
        )
    )


def write_run(
    path: Path, game: str, method: str, seed: int, rest: list[str], beginning: str, length: int
) -> None:
    """One run directory."""
    path.mkdir(parents=True)
    config = to_dict(preset_config("gym/CartPole-v1", METHODS[method], seed=seed))
    config |= {"task": f"atari/{game}", "total_steps": STEPS}
    (path / "config.json").write_text(json.dumps(config, indent=2))
    meta = {"started": "2026-01-02T03:04:05+00:00", "python": "3.11.7", "versions": {}, "git": None}
    (path / "meta.json").write_text(json.dumps(meta))
    scores = paper_atari_scores()[method]
    random = atari_reference_scores()[game].random
    rng = np.random.default_rng([seed, *map(ord, game + method)])
    final = scores.values[0, scores.tasks.index(game)] * rng.lognormal(0.0, 0.15)
    progress = 1 - np.exp(-4 * np.arange(1, ITERATIONS + 1) / ITERATIONS)
    curve = random + (final - random) * progress * rng.normal(1, 0.02, ITERATIONS)
    (path / "metrics.jsonl").write_text(
        "".join(
            f'{{"iteration": {number}, "step": {number * ENVIRONMENTS * ROLLOUT}, '
            f'"episodes": 11, "score": {score!r}, {end}'
            for number, (score, end) in enumerate(zip(curve.tolist(), rest, strict=True), start=1)
        )
    )
    last = STEPS - length * np.arange(2 * WINDOW)[::-1]
    ending = episode_lines(last, rng.normal(final, 0.3 * abs(final), len(last)), length)
    (path / "episodes.jsonl").write_text(beginning + ending)
    record = {"step": STEPS, "seconds": 42e3, "steps_per_second": STEPS / 42e3, "measures": {}}
    (path / "finished.json").write_text(json.dumps(record))


def write_grid(folder: Path, games: int, seeds: int) -> None:
    """Every game with every method and seed."""
    rng = np.random.default_rng(0)
    rest = other_fields(rng)
    for game in list(atari_reference_scores())[:games]:
        length = int(np.exp(rng.uniform(np.log(700), np.log(3500))))
        steps = np.arange(length, STEPS - 2 * WINDOW * length, length)
        beginning = episode_lines(steps, rng.gamma(2, 300, len(steps)), length)
        for method in METHODS:
            for seed in range(seeds):
                path = folder / f"atari-{game}" / method / f"seed-{seed}"
                write_run(path, game, method, seed, rest, beginning, length)


def main() -> None:
    """Write the folder unless it is there, report on it, and print what that took."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--folder", type=Path, default=None, help="kept; default: a temporary one")
    parser.add_argument("--games", type=int, default=57)
    parser.add_argument("--seeds", type=int, default=5)
    known = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = known.folder or Path(temporary) / "runs"
        if not folder.exists():
            write_grid(folder, known.games, known.seeds)
        size = sum(path.stat().st_size for path in folder.rglob("*.jsonl"))
        out = Path(temporary) / "report"
        began = time.perf_counter()
        command = [sys.executable, "-m", "rle.cli", "report", folder, "--paper", "--out", out]
        subprocess.run(command, check=True)
        seconds = time.perf_counter() - began
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024**2
        page = (out / "report.html").stat().st_size / 1e6
    runs = sum(1 for _ in folder.rglob("config.json")) if folder.exists() else 0
    print(f"{runs or known.games * known.seeds * len(METHODS)} runs, {size / 1e9:.2f} GB of logs")
    print(f"{seconds:.1f} s, {peak:.2f} GB at most, page {page:.2f} MB")


if __name__ == "__main__":
    main()
