"""What can be told from a sample of features: is φ alive, and does it tell states apart?"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from rle.findings.finding import Finding

RESTING = 1e-5
"""An output of φ is constant if it deviates by less than this times its size: what is left are the
rounding errors of a few layers in float32, and standardising would blow them up."""
FEW_DIRECTIONS = 1.5
"""Below this effective rank φ has hardly more than one direction: all z then send the agent along one
line, to one end or the other, and a larger dimension of z adds nothing."""
MANY_DEAD = 0.7
"""Share of a layer's ReLUs that never open. A random layer without biases has half of its units closed
where all inputs point one way; beyond that, what it is shown is off."""


def judge_features(features: Tensor) -> list[Finding]:
    """Judge φ(s) `[B, d]` of a sample of states, before it is standardised."""
    rows = features[features.isfinite().all(-1)].double()
    if len(rows) < len(features):
        share = 1 - len(rows) / len(features)
        sentence = (
            f"φ is not finite in {share:.1%} of the states: mend what is shown to it, or φ itself."
        )
        return [Finding("problem", "φ", sentence, share)]
    constant = rows.std(0) <= RESTING * rows.abs().amax(0)
    dimension, dead = len(constant), int(constant.sum())
    if dead == dimension:
        sentence = (
            f"all {dimension} outputs of φ are constant: F is the same in every state, so normalise "
            "observations, or bring a φ of your own (rle.feature-network)."
        )
        return [Finding("problem", "φ", sentence, 1.0)]
    findings = []
    if dead:
        sentence = (
            f"{dead} of {dimension} outputs of φ are constant, and that part of z means nothing: "
            "normalise observations, or bring a φ of your own (rle.feature-network)."
        )
        findings.append(Finding("problem", "φ", sentence, dead / dimension))
    rank = effective_rank(rows[:, ~constant])
    if rank < FEW_DIRECTIONS and dimension > 1:
        sentence = (
            f"φ varies along {rank:.1f} of {dimension} directions: most z ask for the same, so see "
            "that observations say more than one thing, on one scale."
        )
        return [*findings, Finding("notice", "φ", sentence, rank)]
    sentence = f"φ varies along {rank:.1f} of {dimension} directions."
    return [*findings, Finding("fine", "φ", sentence, rank)]


def effective_rank(features: Tensor) -> float:
    """How many directions features `[B, d]` vary along: the exponential of the entropy of the shares.

    The shares are those of the covariance's eigenvalues in their sum (Roy and Vetterli 2007).
    """
    values = torch.linalg.eigvalsh(torch.cov(features.T.double()).reshape(features.shape[1], -1))
    shares = values.clamp(min=0) / values.clamp(min=0).sum()
    return float(torch.exp(-torch.xlogy(shares, shares).sum()))


def judge_units(layers: Sequence[Tensor]) -> list[Finding]:
    """Judge the outputs `[B, units]` of each layer of ReLUs in φ, of a sample of states."""
    if not layers:
        return []
    shares = [float((layer <= 0).flatten(1).all(0).double().mean()) for layer in layers]
    worst = max(shares)
    number = shares.index(worst) + 1
    if worst <= MANY_DEAD:
        sentence = f"at most {worst:.0%} of a layer's units in φ never open."
        return [Finding("fine", "units", sentence, worst)]
    sentence = (
        f"{worst:.0%} of the units in layer {number} of φ never open: normalise observations, or give φ "
        "wider layers or another activation (rle.feature-hidden, rle.feature-activation)."
    )
    return [Finding("notice", "units", sentence, worst)]


@torch.no_grad()
def relu_outputs(network: nn.Module, observations: Tensor) -> list[Tensor]:
    """The outputs `[B, units]` of every `nn.ReLU` in a network, in the order in which they come up."""
    seen: list[Tensor] = []

    def keep(module: nn.Module, inputs: tuple[Tensor, ...], output: Tensor) -> None:
        seen.append(output.flatten(1))

    hooks = [
        module.register_forward_hook(keep)
        for module in network.modules()
        if isinstance(module, nn.ReLU)
    ]
    try:
        network(observations)
    finally:
        for hook in hooks:
            hook.remove()
    return seen
