"""How often a 95 % interval contains the answer: simulated studies with a known answer.

    python benchmarks/stats_coverage.py

prints, as a Markdown table, per world, measure and number of seeds: the share of intervals that
contain the answer, in percent, for the plain percentile bootstrap and for the default, and the
median width of the default, since an interval of everything contains every answer. A thousand
studies leave a standard error of 0.7 points on a share of 95 %. The last line names what fell
below the bar.

The worlds, with fixed tasks and random seeds:

- `57 tasks`: true task means are the paper's human-normalised Atari scores of RLE, the rival's
  those of PPO. Seeds scatter by 5 to 60 % of the mean; the scatter is normal on a third of the
  tasks, log-normal on a third, and two-peaked (a seed solves the game or does not) on a third.
- `9 tasks`: nine normal tasks with different scatter, as in continuous control.
- `1 task`: the share of a maze visited, Beta(6, 1.5) against Beta(2, 2): skewed, bounded.
- `stumbling, ...`: success from 0 to 1, as at a sparse goal. Most runs end with 0; a run stumbles
  on the goal with some chance (`0.1 v 0.02`: ours and the rival's) and then succeeds always
  (`full`), to any degree (`partial`: uniform), or hardly (`hardly`: 0.0001 in half of the cases,
  else 1). On one task, on nine alike, or on nine `mixed` ones with chances from 0 to 1, the rival's
  being their squares.
"""

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from rle.stats.aggregates import (
    Difference,
    FloatArray,
    interquartile_mean,
    mean,
    median,
    optimality_gap,
    probability_of_improvement,
)
from rle.stats.bounded_terms import Bounds
from rle.stats.interval import Bootstrap, Method
from rle.stats.limits import confidence_limits
from rle.stats.normalise import human_normalised
from rle.stats.reference import paper_atari_scores

SEED_COUNTS = (3, 5, 10, 20)
METHODS: tuple[Method, ...] = ("percentile", "expanded-percentile")
# Percent, from so many seeds on.
BAR, BAR_SEEDS = 93.0, 5
# Studies that share one set of resampled seeds: an economy that does not bias the coverage, small
# enough that its noise averages out over the blocks.
BLOCK = 50
# Runs from which the answer is computed; its error is a hundredth of a 20-seed interval's.
ANSWER_RUNS = 200_000

Sampler = Callable[[np.random.Generator, tuple[int, ...]], FloatArray]
"""Takes a generator and `[..., runs]`, gives scores `[..., runs, tasks]`."""


@dataclass(frozen=True)
class Question:
    """A measure of one method, or of one against another."""

    name: str
    statistic: Callable[..., FloatArray]
    against_rival: bool = False
    bounds: Bounds | None = None


IMPROVEMENT = Question("probability of improvement", probability_of_improvement, True)
MANY_TASKS = (
    Question("IQM", interquartile_mean),
    Question("mean", mean),
    Question("median", median),
    Question("optimality gap", optimality_gap),
    Question("difference of IQM", Difference(interquartile_mean), True),
    IMPROVEMENT,
)
SHARES = (
    Question("mean", mean, bounds=(0.0, 1.0)),
    Question("difference of means", Difference(mean), True, (0.0, 1.0)),
    IMPROVEMENT,
)


def atari_like(method: str, seed: int) -> Sampler:
    """57 tasks around the paper's scores."""
    centre = human_normalised(paper_atari_scores()[method]).values[0]
    rng = np.random.default_rng(seed)
    spread = rng.uniform(0.05, 0.6, centre.size)
    kind = rng.integers(0, 3, centre.size)
    # Games beyond three times human: positive scores with less scatter, or they alone would
    # decide every mean.
    spread[centre > 3.0] *= 0.5
    kind[centre > 3.0] = 1
    log_scale = np.sqrt(np.log1p(spread**2))

    def sample(rng: np.random.Generator, shape: tuple[int, ...]) -> FloatArray:
        noise = rng.standard_normal((*shape, centre.size))
        solved = rng.random(noise.shape) < 0.5
        normal = centre + (spread * np.abs(centre) + 0.01) * noise
        skewed = centre * np.exp(log_scale * noise - log_scale**2 / 2.0)
        peaked = centre * (1.0 + spread * np.where(solved, 1.0, -1.0)) + 0.01 * noise
        return np.where(kind == 0, normal, np.where(kind == 1, skewed, peaked))

    return sample


def control_like(advantage: float) -> Sampler:
    """Nine normal tasks around 1, with scatter from 0.05 to 0.8."""
    centre = np.linspace(0.6, 1.4, 9) + advantage
    scatter = np.geomspace(0.05, 0.8, 9)[[4, 0, 7, 2, 8, 1, 5, 3, 6]]
    return lambda rng, shape: centre + scatter * rng.standard_normal((*shape, 9))


def coverage_like(first: float, second: float) -> Sampler:
    """One task: a share, Beta distributed."""
    return lambda rng, shape: rng.beta(first, second, (*shape, 1))


def stumbling(success: str, chances: FloatArray) -> Sampler:
    """Success at a goal on which a run stumbles with a chance of its own for every task."""

    def sample(rng: np.random.Generator, shape: tuple[int, ...]) -> FloatArray:
        luck, degree = rng.random((2, *shape, len(chances)))
        reached = {
            "full": np.ones_like(degree),
            "partial": 1.0 - degree,
            "hardly": np.where(degree < 0.5, 1e-4, 1.0),
        }[success]
        return np.where(luck < chances, reached, 0.0)

    return sample


World = tuple[Sampler, Sampler, tuple[Question, ...]]
WORLDS: dict[str, World] = {
    "57 tasks": (atari_like("rle", 1), atari_like("ppo", 2), MANY_TASKS),
    "9 tasks": (control_like(0.1), control_like(0.0), MANY_TASKS),
    "1 task": (coverage_like(6.0, 1.5), coverage_like(2.0, 2.0), SHARES),
}
for tasks, success, chances in (
    (1, "full", (0.05, 0.0)),
    (1, "full", (0.1, 0.02)),
    (1, "full", (0.3, 0.1)),
    (1, "full", (0.9, 0.1)),
    (1, "partial", (0.1, 0.02)),
    (1, "partial", (0.5, 0.2)),
    (1, "hardly", (0.1, 0.02)),
    (1, "hardly", (0.5, 0.2)),
    (9, "full", (0.05, 0.0)),
    (9, "full", (0.3, 0.1)),
    (9, "full", (0.9, 0.1)),
    (9, "partial", (0.1, 0.02)),
    (9, "hardly", (0.5, 0.2)),
):
    ours, rivals = (stumbling(success, np.full(tasks, chance)) for chance in chances)
    name = f"stumbling, {tasks} task{'s' * (tasks > 1)}, {success}, {chances[0]} v {chances[1]}"
    WORLDS[name] = (ours, rivals, SHARES)
for success in ("full", "partial", "hardly"):
    mixed = np.linspace(0.0, 1.0, 9)
    ours, rivals = stumbling(success, mixed), stumbling(success, mixed**2)
    WORLDS[f"stumbling, 9 tasks, {success}, mixed"] = (ours, rivals, SHARES)


def answer(question: Question, ours: FloatArray, rivals: FloatArray) -> float:
    """The measure on very many runs, `[runs, tasks]`."""
    if question.statistic is not probability_of_improvement:
        return float(question.statistic(*([ours, rivals] if question.against_rival else [ours])))
    # All pairs of so many runs: count by sorting, ties by halves.
    beaten = []
    for task in range(ours.shape[1]):
        ranked = np.sort(rivals[:, task])
        places = [np.searchsorted(ranked, ours[:, task], side) for side in ("left", "right")]
        beaten.append(np.mean(places) / len(rivals))
    return float(np.mean(beaten))


@dataclass(frozen=True)
class Cell:
    """Percent of studies whose interval contains the answer, and the default's median width."""

    plain: float
    default: float
    width: float

    def __str__(self) -> str:
        return f"{self.plain:.1f} → **{self.default:.1f}** ({self.width:.2g})"


def coverage(
    question: Question,
    samplers: tuple[Sampler, Sampler],
    truth: float,
    runs: int,
    studies: int,
    resamples: int,
) -> Cell:
    """Simulate studies of `runs` seeds and count the intervals that contain `truth`."""
    rng = np.random.default_rng(runs)
    plain_hits, hits, widths = 0, 0, []
    used = samplers if question.against_rival else samplers[:1]
    for _ in range(studies // BLOCK):
        scores = [sample(rng, (BLOCK, runs)) for sample in used]
        plain, default = (
            confidence_limits(
                question.statistic,
                scores,
                Bootstrap(method=method, resamples=resamples, seed=rng),
                question.bounds,
            )
            for method in METHODS
        )
        plain_hits += np.sum((plain.low <= truth) & (truth <= plain.high))
        hits += np.sum((default.low <= truth) & (truth <= default.high))
        widths.append(default.high - default.low)
    share = 100.0 / (studies // BLOCK * BLOCK)
    return Cell(share * plain_hits, share * hits, float(np.median(widths)))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--studies", type=int, default=1000, help=f"a multiple of {BLOCK}")
    parser.add_argument("--resamples", type=int, default=1000)
    parser.add_argument("--worlds", nargs="+", default=[""], help="how their names start")
    arguments = parser.parse_args()
    began = time.perf_counter()
    print(f"| world | measure | {' | '.join(f'{runs} seeds' for runs in SEED_COUNTS)} |")
    print(f"|---|---|{'---:|' * len(SEED_COUNTS)}")
    low: list[str] = []
    for world in (name for name in WORLDS if name.startswith(tuple(arguments.worlds))):
        ours, rivals, questions = WORLDS[world]
        rng = np.random.default_rng(0)
        many_ours, many_rivals = (sample(rng, (ANSWER_RUNS,)) for sample in (ours, rivals))
        for question in questions:
            truth = answer(question, many_ours, many_rivals)
            cells = [
                coverage(
                    question, (ours, rivals), truth, runs, arguments.studies, arguments.resamples
                )
                for runs in SEED_COUNTS
            ]
            print(f"| {world} | {question.name} | {' | '.join(map(str, cells))} |", flush=True)
            low += [
                f"{world}, {question.name}, {runs} seeds: {cell.default:.1f}"
                for runs, cell in zip(SEED_COUNTS, cells, strict=True)
                if runs >= BAR_SEEDS and cell.default < BAR
            ]
    print(
        f"\n{arguments.studies} studies per cell, {arguments.resamples} resamples each, "
        f"{time.perf_counter() - began:.0f} s. Below {BAR:.0f} % from {BAR_SEEDS} seeds on: "
        f"{'; '.join(low) or 'nothing'}."
    )


if __name__ == "__main__":
    main()
