"""What may be claimed: normalised scores, aggregates, and their confidence intervals.

One convention everywhere: scores are runs x tasks.
"""

from rle.stats.aggregates import (
    AGGREGATES,
    Measure,
    interquartile_mean,
    mean,
    median,
    optimality_gap,
    performance_profile,
    probability_of_improvement,
    task_means,
)
from rle.stats.bootstrap import (
    aggregate_difference_interval,
    aggregate_interval,
    pairwise_probability_of_improvement,
    performance_profile_band,
    probability_of_improvement_interval,
)
from rle.stats.curves import AlignedCurves, aggregate_curve, align_curves
from rle.stats.interval import DEFAULT_BOOTSTRAP, METHODS, Band, Bootstrap, Interval
from rle.stats.normalise import capped_human_normalised, human_normalised, ppo_normalised
from rle.stats.reference import (
    PAPER_PROBABILITY_OF_IMPROVEMENT,
    ReferenceScore,
    atari_reference_scores,
    paper_atari_scores,
    paper_atari_steps,
)
from rle.stats.samples import difference_interval, mean_interval
from rle.stats.scores import Scores, restrict_to_common_tasks

__all__ = [
    "AGGREGATES",
    "DEFAULT_BOOTSTRAP",
    "METHODS",
    "PAPER_PROBABILITY_OF_IMPROVEMENT",
    "AlignedCurves",
    "Band",
    "Bootstrap",
    "Interval",
    "Measure",
    "ReferenceScore",
    "Scores",
    "aggregate_curve",
    "aggregate_difference_interval",
    "aggregate_interval",
    "align_curves",
    "atari_reference_scores",
    "capped_human_normalised",
    "difference_interval",
    "human_normalised",
    "interquartile_mean",
    "mean",
    "mean_interval",
    "median",
    "optimality_gap",
    "pairwise_probability_of_improvement",
    "paper_atari_scores",
    "paper_atari_steps",
    "performance_profile",
    "performance_profile_band",
    "ppo_normalised",
    "probability_of_improvement",
    "probability_of_improvement_interval",
    "restrict_to_common_tasks",
    "task_means",
]
