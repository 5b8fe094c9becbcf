"""DeepSea: a diver who must swim right in every one of N steps, and pays for each.

Osband, Van Roy, Russo and Wen, "Deep Exploration via Randomized Value Functions" (JMLR 20, 2019), as
`bsuite` has it (Osband et al., "Behaviour Suite for Reinforcement Learning", ICLR 2020), deterministic:

- N x N cells; an episode begins in the top left one and takes N steps, each one row further down and one
  column to the left or to the right. At the edges a move goes straight down.
- Which of the two actions is "right" was drawn for each cell, by a seed of the task alone: all runs dive
  in the same sea.
- A move to the right costs 0.01 / N, one to the left nothing. Moving right in the last column, which
  only a diver who moved right in all N steps is in, finds the chest: +1. The best return is 0.99.
- The cell is observed as N² zeros and a one among them; after the last step there are zeros only.

Of the 2^N sequences of actions one succeeds; whoever learns from the costs alone learns to keep left.
"""

from __future__ import annotations

import torch

from rle.tasks.sparse.table_world import Rules

MOVE_COST = 0.01
"""Of N moves to the right."""
MAPPING_SEED = 42


def deep_sea(size: int) -> Rules:
    """The rules of a sea of `size` x `size` cells; state `size`² is the sea bed, where episodes end."""
    bed = size * size
    generator = torch.Generator().manual_seed(MAPPING_SEED)
    right_action = torch.randint(0, 2, (size, size), generator=generator).reshape(-1)
    rows, columns = (cell.reshape(-1) for cell in _cells(size))
    # [cells, 2]: whether an action is this cell's "right".
    right = right_action[:, None] == torch.arange(2)
    column = torch.where(right, columns[:, None] + 1, columns[:, None] - 1).clamp(0, size - 1)
    row = rows[:, None] + 1
    moves = torch.where(row < size, row * size + column, bed)
    chest = right & (columns == size - 1)[:, None]
    reward = chest.float() - MOVE_COST / size * right.float()

    def with_bed(table: torch.Tensor, value: int) -> torch.Tensor:
        return torch.cat([table, torch.full((1, *table.shape[1:]), value, dtype=table.dtype)])

    return Rules(
        moves=with_bed(moves, bed),
        reward=with_bed(reward, 0),
        success=with_bed(chest, 0),
        over=with_bed(torch.zeros(bed, dtype=torch.bool), 1),
        view=with_bed(torch.eye(bed), 0),
        free=torch.ones(size, size, dtype=torch.bool),
        goal=(size - 1, size - 1),
        time_limit=size,
    )


def _cells(size: int) -> tuple[torch.Tensor, ...]:
    """Row and column of every cell, each `[size, size]`."""
    return torch.meshgrid(torch.arange(size), torch.arange(size), indexing="ij")
