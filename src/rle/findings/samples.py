"""All that can be told from samples, for programs that have an agent and a loop of their own."""

from __future__ import annotations

from torch import Tensor

from rle.findings.bonuses import judge_bonus
from rle.findings.features import judge_features
from rle.findings.finding import Finding, by_severity
from rle.findings.observations import NORMALISE, judge_observations


def check_samples(
    observations: Tensor | None = None,
    features: Tensor | None = None,
    bonus: Tensor | None = None,
    normalise: str = NORMALISE,
) -> list[Finding]:
    """Judge what is given, the worst first.

    Args:
        observations: `[B, ...]`, as φ sees them, from many episodes.
        features: φ(s) `[B, d]`, before it is standardised.
        bonus: F(s, z) `[M, B]`, of the same states under M latents each.
        normalise: what to do about observations on different scales, as the end of a sentence.

    """
    findings: list[Finding] = []
    if observations is not None:
        findings += judge_observations(observations, normalise)
    if features is not None:
        findings += judge_features(features)
    if bonus is not None:
        findings += judge_bonus(bonus)
    return by_severity(findings)
