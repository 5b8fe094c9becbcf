"""How new a state is to the episode it is met in.

Elliptical, as in E3B (Henaff et al., "Exploration via Elliptical Episodic Bonuses", NeurIPS 2022): with
C the sum of w wᵀ over the states that the episode has shown before, q = wᵀ (ridge + C)⁻¹ w is large for
a state that lies in none of their directions, and about 1 / (k - 1) for one that is met for the k-th
time. What is returned is √(q / (1 + q)): from nearly 1 down to 0, and about 1 / √k for the k-th visit.

Nothing has to be inverted step by step. Of the matrix of all products w_i·w_j in an episode, plus the
ridge, the squared diagonal of the Cholesky factor is what each row leaves unexplained by those before
it, ridge · (1 + q): one batched factorisation for a whole rollout.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

RIDGE = 0.1
"""Beside states whose squared length is 1 on average."""


class Order(NamedTuple):
    """Where each of B transitions stands in a rollout of T steps of N environments."""

    row: Tensor
    """int64 `[B]`: the step."""
    env: Tensor
    """int64 `[B]`: the environment."""
    episode: Tensor
    """int64 `[B]`: a number that is the same for all of an environment's steps in one episode."""
    shape: tuple[int, int]
    """T and N."""

    def of(self, rows: Tensor | slice) -> Order:
        """That of some of them."""
        return Order(self.row[rows], self.env[rows], self.episode[rows], self.shape)


def episodic_novelty(states: Tensor, order: Order) -> Tensor:
    """How new each of B states is to its episode, as far as the rollout shows it.

    Args:
        states: `[B, m]`, whitened.
        order: of each of them; no two in the same place. Places without a state count as nothing.

    Returns:
        `[B]`, between 0 and 1.
    """
    row, env, episode, (steps, num_envs) = order
    # Places without a state are zeros there, which explain nothing.
    shown = states.new_zeros(num_envs, steps, states.shape[-1])
    shown[env, row] = states
    number = episode.new_zeros(num_envs, steps)
    number[env, row] = episode
    products = shown @ shown.mT * (number[:, :, None] == number[:, None, :])
    products.diagonal(dim1=-2, dim2=-1).add_(RIDGE)
    factor, _ = torch.linalg.cholesky_ex(products)
    unexplained = factor.diagonal(dim1=-2, dim2=-1)[env, row].square()
    # Rounding may leave a little less than the ridge.
    return (1 - RIDGE / unexplained).clamp(min=0).sqrt()
