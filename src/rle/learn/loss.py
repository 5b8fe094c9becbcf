"""The PPO loss, as a plain function of tensors."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

NORMALISATION_EPSILON = 1e-8


class LossWeights(NamedTuple):
    """The loss's coefficients (Schulman et al. 2017, eq. 9)."""

    clip: float
    entropy: float
    value: tuple[float, ...]
    """One per stream; the first is the task's."""
    clip_value_loss: bool
    normalise_advantages: bool


class LossTerms(NamedTuple):
    """What a minibatch's loss is made of; each a scalar."""

    policy: Tensor
    value: Tensor
    """`[K]`, unweighted."""
    entropy: Tensor
    approximate_kl: Tensor
    clip_fraction: Tensor


def _mean(x: Tensor, mask: Tensor | None, count: Tensor | None) -> Tensor:
    if mask is None or count is None:
        return x.mean()
    return torch.where(mask, x, 0.0).sum() / count


def normalised(advantage: Tensor, mask: Tensor | None = None) -> Tensor:
    """Advantages `[B]` of a minibatch with mean 0 and deviation 1 over its real transitions."""
    count = None if mask is None else mask.sum().clamp(min=1)
    centred = advantage - _mean(advantage, mask, count)
    # The unbiased deviation, as in the reference implementations. A minibatch may hold a single
    # real transition: then there is nothing to correct.
    total = len(advantage) if count is None else count
    others = max(total - 1, 1) if isinstance(total, int) else (total - 1).clamp(min=1)
    variance = _mean(centred.square(), mask, count) * total / others
    return centred / (variance.sqrt() + NORMALISATION_EPSILON)


def ppo_loss(
    log_probability: Tensor,
    entropy: Tensor,
    values: Tensor,
    old_log_probability: Tensor,
    old_values: Tensor,
    advantage: Tensor,
    returns: Tensor,
    weights: LossWeights,
    mask: Tensor | None = None,
) -> tuple[Tensor, LossTerms]:
    """Clipped policy loss + Σ_k c_k · value loss_k - c_e · entropy, over a minibatch of B transitions.

    Args:
        log_probability: log π(a|s) now, `[B]`.
        entropy: of π(·|s) now, `[B]`.
        values: now, `[B, K]`.
        old_log_probability: when the action was taken, `[B]`.
        old_values: when the action was taken, `[B, K]`.
        advantage: of all streams together, `[B]`; normalised here, per minibatch.
        returns: value targets, `[B, K]`.
        mask: `[B]`, True where the transition is real; None: all are.

    """
    count = None if mask is None else mask.sum().clamp(min=1)

    def mean(x: Tensor) -> Tensor:
        return _mean(x, mask, count)

    if weights.normalise_advantages:
        advantage = normalised(advantage, mask)
    log_ratio = log_probability - old_log_probability
    ratio = log_ratio.exp()
    clipped = ratio.clamp(1 - weights.clip, 1 + weights.clip)
    policy = mean(torch.maximum(-advantage * ratio, -advantage * clipped))

    errors = (values - returns).square()
    task_error = errors[:, 0]
    if weights.clip_value_loss:
        change = (values[:, 0] - old_values[:, 0]).clamp(-weights.clip, weights.clip)
        task_error = torch.maximum(task_error, (old_values[:, 0] + change - returns[:, 0]).square())
    value_terms = [0.5 * mean(task_error)]
    # Bonus heads are never clipped: their targets move on purpose.
    value_terms += [0.5 * mean(errors[:, stream]) for stream in range(1, errors.shape[1])]
    value = torch.stack(value_terms)

    mean_entropy = mean(entropy)
    loss = policy - weights.entropy * mean_entropy
    for weight, term in zip(weights.value, value_terms, strict=True):
        loss = loss + weight * term
    with torch.no_grad():
        # Schulman's low-variance estimator, never negative: http://joschu.net/blog/kl-approx.html
        approximate_kl = mean(ratio - 1 - log_ratio)
        clip_fraction = mean(((ratio - 1).abs() > weights.clip).float())
    return loss, LossTerms(
        policy.detach(), value.detach(), mean_entropy.detach(), approximate_kl, clip_fraction
    )
