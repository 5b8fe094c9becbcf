"""Returns of one or several reward streams: the one place that knows where a return is cut.

The rule. Each stream k has rewards, values, a discount γ_k and two masks:

* `cut`: nothing is earned after this transition, so nothing is bootstrapped. For the task that is a
  termination; for RLE's bonus a change of z; for RND's bonus never.
* `stop`: the next row of the rollout is not this transition's future, so the λ-trace ends. It holds
  where `cut` does, and for the task also at a time limit, where the value of the true last
  observation is bootstrapped all the same.

With v' the value of the true next state,

    δ_t = r_t + γ (1 - cut_t) v'_t - v_t
    A_t = δ_t + γ λ (1 - stop_t) A_{t+1}
"""

from __future__ import annotations

import torch
from torch import Tensor


def linear_recurrence(inputs: Tensor, weights: Tensor) -> Tensor:
    """y_t = x_t + w_t y_{t-1} along the first dimension, with y_{-1} = 0; both `[T, ...]`.

    Computed in log2(T) vectorised rounds (Hillis & Steele 1986) instead of T steps: the rollout of a
    small task spends more time in a loop of T steps than in its arithmetic.
    """
    outputs, factors = inputs.clone(), weights.clone()
    reach = 1
    while reach < len(inputs):
        # Both right-hand sides read the previous round, hence the temporaries.
        carried = factors[reach:] * outputs[:-reach]
        shrunk = factors[reach:] * factors[:-reach]
        outputs[reach:] += carried
        factors[reach:] = shrunk
        reach *= 2
    return outputs


def advantages(
    rewards: Tensor,
    values: Tensor,
    next_values: Tensor,
    cut: Tensor,
    stop: Tensor,
    discount: Tensor,
    gae_lambda: float,
    real: Tensor | None = None,
) -> Tensor:
    """Generalised advantage estimates (Schulman et al. 2016) of K streams at once, `[T, N, K]`.

    Args:
        rewards: `[T, N, K]`.
        values: v of the state each action was taken in, `[T, N, K]`.
        next_values: v' of the true next state, `[T, N, K]`.
        cut: bool `[T, N, K]`, see the module's rule.
        stop: bool `[T, N, K]`, see the module's rule.
        discount: γ of each stream, `[K]`.
        real: bool `[T, N]`; rows that only reset an environment are passed over, as if the rows
            around them were neighbours. Their own advantages are 0.

    """
    if real is not None:
        next_values = _look_across_resets(next_values, stop, real)
    delta = rewards + discount * next_values * ~cut - values
    weight = discount * gae_lambda * ~stop
    if real is not None:
        delta = torch.where(real[..., None], delta, 0.0)
        weight = torch.where(real[..., None], weight, 1.0)
    result = linear_recurrence(delta.flip(0), weight.flip(0)).flip(0)
    return result if real is None else torch.where(real[..., None], result, 0.0)


def _look_across_resets(next_values: Tensor, stop: Tensor, real: Tensor) -> Tensor:
    """Where a stream goes on over a reset row, v' is the value of the state after that row."""
    after_reset = torch.cat([next_values[1:], next_values[-1:]])
    before_reset = torch.cat([~real[1:], torch.zeros_like(real[:1])])[..., None]
    return torch.where(before_reset & ~stop, after_reset, next_values)


def discounted_sums(
    rewards: Tensor, stop: Tensor, discount: Tensor, carry: Tensor, real: Tensor | None = None
) -> Tensor:
    """The forward filter R_t = r_t + γ (1 - stop_{t-1}) R_{t-1} along time, `[T, N, K]`.

    `carry` `[N, K]` is R of the row before the first, already 0 where that row was stopped. Rows that
    are not `real` leave the sum as it is.
    """
    weight = (
        (discount * torch.ones_like(rewards))
        if real is None
        else torch.where(real[..., None], discount, torch.ones_like(rewards))
    )
    inputs = rewards if real is None else torch.where(real[..., None], rewards, 0.0)
    inputs = torch.cat([inputs[:1] + weight[:1] * carry, inputs[1:]])
    weight = torch.cat([weight[:1], weight[1:] * ~stop[:-1]])
    return linear_recurrence(inputs, weight)
