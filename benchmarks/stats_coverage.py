"""How often a 95 % interval contains the answer: simulated experiments with a known answer.

    python benchmarks/stats_coverage.py

prints, as a Markdown table, the share of intervals that contain the answer, per measure, world and
number of seeds, for the plain percentile bootstrap and for the expanded one. A thousand experiments
leave a standard error of 0.7 points on a share of 95 %.

The worlds, with fixed tasks and random seeds:

- `57 tasks`: true task means are the paper's human-normalised Atari scores of RLE, the rival's
  those of PPO. Seeds scatter by 5 to 60 % of the mean; the scatter is normal on a third of the
  tasks, log-normal on a third, and two-peaked (a seed solves the game or does not) on a third.
- `9 tasks`: nine normal tasks with different scatter, as in continuous control.
- `1 task`: the share of a maze visited, Beta(6, 1.5) against Beta(2, 2): skewed, bounded.
"""

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from rle.stats.aggregates import (
    FloatArray,
    interquartile_mean,
    mean,
    median,
    optimality_gap,
    probability_of_improvement,
)
from rle.stats.interval import Method
from rle.stats.limits import limits_of_replicates
from rle.stats.normalise import human_normalised
from rle.stats.reference import paper_atari_scores
from rle.stats.resampling import replicate

SEED_COUNTS = (3, 5, 10, 20)
METHODS: tuple[Method, ...] = ("percentile", "expanded-percentile")
# Experiments that share one set of resampled seeds: an economy that does not bias the coverage,
# small enough that its noise averages out over the blocks.
BLOCK = 50
# Runs from which the answer is computed; its error is a fiftieth of a 20-seed interval's.
ANSWER_RUNS = 40_000

Sampler = Callable[[np.random.Generator, tuple[int, ...]], FloatArray]
"""Takes a generator and `[..., runs]`, gives scores `[..., runs, tasks]`."""


@dataclass(frozen=True)
class Question:
    """A measure of one method, or of one against another."""

    name: str
    statistic: Callable[..., FloatArray]
    against_rival: bool = False
    bounds: tuple[float, float] | None = None


def difference_of_iqm(ours: FloatArray, rivals: FloatArray) -> FloatArray:
    """IQM of one method less that of the other."""
    return interquartile_mean(ours) - interquartile_mean(rivals)


def difference_of_means(ours: FloatArray, rivals: FloatArray) -> FloatArray:
    """Mean of one method less that of the other."""
    return mean(ours) - mean(rivals)


MEAN = Question("mean", mean)
IMPROVEMENT = Question("probability of improvement", probability_of_improvement, True, (0.0, 1.0))
MANY_TASKS = (
    Question("IQM", interquartile_mean),
    MEAN,
    Question("median", median),
    Question("optimality gap", optimality_gap),
    Question("difference of IQM", difference_of_iqm, True),
    IMPROVEMENT,
)
ONE_TASK = (MEAN, Question("difference of means", difference_of_means, True), IMPROVEMENT)


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


WORLDS: dict[str, tuple[Sampler, Sampler, tuple[Question, ...]]] = {
    "57 tasks": (atari_like("rle", 1), atari_like("ppo", 2), MANY_TASKS),
    "9 tasks": (control_like(0.1), control_like(0.0), MANY_TASKS),
    "1 task": (coverage_like(6.0, 1.5), coverage_like(2.0, 2.0), ONE_TASK),
}


def answer(question: Question, ours: FloatArray, rivals: FloatArray) -> float:
    """The measure on very many runs, `[runs, tasks]`."""
    if question.statistic is not probability_of_improvement:
        return float(question.statistic(*([ours, rivals] if question.against_rival else [ours])))
    # All pairs of 40 000 runs: count by sorting.
    beaten = [
        np.searchsorted(np.sort(rivals[:, task]), ours[:, task]).mean() / len(rivals)
        for task in range(ours.shape[1])
    ]
    return float(np.mean(beaten))


def coverage(
    question: Question,
    samplers: tuple[Sampler, Sampler],
    truth: float,
    runs: int,
    experiments: int,
    resamples: int,
) -> dict[Method, float]:
    """Share of experiments whose interval contains `truth`, in percent, by method."""
    rng = np.random.default_rng(runs)
    hits = dict.fromkeys(METHODS, 0)
    used = samplers if question.against_rival else samplers[:1]
    for _ in range(experiments // BLOCK):
        scores = [sample(rng, (BLOCK, runs)) for sample in used]
        replicates = replicate(question.statistic, scores, resamples, rng)
        for method in METHODS:
            limits = limits_of_replicates(replicates, 0.95, method, question.bounds)
            hits[method] += int(np.sum((limits.low <= truth) & (truth <= limits.high)))
    return {method: 100.0 * count / experiments for method, count in hits.items()}


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--experiments", type=int, default=1000, help=f"a multiple of {BLOCK}")
    parser.add_argument("--resamples", type=int, default=1000)
    parser.add_argument("--worlds", nargs="+", choices=list(WORLDS), default=list(WORLDS))
    arguments = parser.parse_args()
    began = time.perf_counter()
    columns = [f"{method.split('-')[0]}, {runs}" for runs in SEED_COUNTS for method in METHODS]
    print(f"| world | measure | {' | '.join(columns)} |")
    print(f"|---|---|{'---:|' * len(columns)}")
    for world in arguments.worlds:
        ours, rivals, questions = WORLDS[world]
        rng = np.random.default_rng(0)
        many_ours, many_rivals = (sample(rng, (ANSWER_RUNS,)) for sample in (ours, rivals))
        for question in questions:
            truth = answer(question, many_ours, many_rivals)
            cells = []
            for runs in SEED_COUNTS:
                shares = coverage(
                    question,
                    (ours, rivals),
                    truth,
                    runs,
                    arguments.experiments,
                    arguments.resamples,
                )
                cells += [f"{shares[method]:.1f}" for method in METHODS]
            print(f"| {world} | {question.name} | {' | '.join(cells)} |", flush=True)
    print(
        f"\n{arguments.experiments} experiments per cell, {arguments.resamples} resamples each, "
        f"{time.perf_counter() - began:.0f} s."
    )


if __name__ == "__main__":
    main()
