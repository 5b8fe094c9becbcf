"""What a doctor can find, from samples alone: PyTorch and nothing of the trainer.

    for finding in check_samples(observations, phi(observations), F):   # F(s, z) [M, B] of M latents
        print(finding)

`rle.check` plays in a task, or reads a run, and judges with these.
"""

from typing import TYPE_CHECKING

from rle.lazy import lazy_names

if TYPE_CHECKING:
    from rle.findings.bonuses import judge_bonus, judge_proportion, return_deviation
    from rle.findings.features import effective_rank, judge_features, judge_units, relu_outputs
    from rle.findings.finding import Finding, by_severity, has_problem
    from rle.findings.following import Remedies, judge_following
    from rle.findings.observations import judge_observations
    from rle.findings.samples import check_samples

__all__ = [
    "Finding",
    "Remedies",
    "by_severity",
    "check_samples",
    "effective_rank",
    "has_problem",
    "judge_bonus",
    "judge_features",
    "judge_following",
    "judge_observations",
    "judge_proportion",
    "judge_units",
    "relu_outputs",
    "return_deviation",
]

__getattr__ = lazy_names(
    "rle.findings",
    {
        "Finding": "rle.findings.finding",
        "Remedies": "rle.findings.following",
        "by_severity": "rle.findings.finding",
        "check_samples": "rle.findings.samples",
        "effective_rank": "rle.findings.features",
        "has_problem": "rle.findings.finding",
        "judge_bonus": "rle.findings.bonuses",
        "judge_features": "rle.findings.features",
        "judge_following": "rle.findings.following",
        "judge_observations": "rle.findings.observations",
        "judge_proportion": "rle.findings.bonuses",
        "judge_units": "rle.findings.features",
        "relu_outputs": "rle.findings.features",
        "return_deviation": "rle.findings.bonuses",
    },
)
