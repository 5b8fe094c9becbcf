"""Worlds of square cells: where moves lead, what is seen there, and how far everything is."""

from __future__ import annotations

from collections import deque

import torch
from torch import Tensor

Cell = tuple[int, int]

MOVES = ((0, -1), (0, 1), (-1, 0), (1, 0))
"""Left, right, up, down as (row, column) differences."""


def transition_table(free: Tensor) -> Tensor:
    """int64 `[cells, 4]`: the cell each move leads to; into a wall or off the grid stays put.

    `free` is bool `[rows, columns]`, and a cell's number counts row by row.
    """
    height, width = free.shape
    rows, columns = torch.meshgrid(torch.arange(height), torch.arange(width), indexing="ij")
    here = rows * width + columns
    targets = []
    for row_move, column_move in MOVES:
        row = (rows + row_move).clamp(0, height - 1)
        column = (columns + column_move).clamp(0, width - 1)
        targets.append(torch.where(free[row, column], row * width + column, here))
    return torch.stack(targets, dim=-1).reshape(-1, len(MOVES))


def coordinates(size: int) -> Tensor:
    """float32 `[size * size, 2]`: (x, y) of every cell, centred to [-1, 1], y pointing up.

    Centring matters: with ReLU and zero biases φ depends only on the direction of its input.
    """
    axis = torch.linspace(-1.0, 1.0, size)
    rows, columns = torch.meshgrid(torch.arange(size), torch.arange(size), indexing="ij")
    return torch.stack([axis[columns], -axis[rows]], dim=-1).reshape(-1, 2)


def distances(free: Tensor, start: Cell) -> Tensor:
    """int64 `[rows, columns]`: moves from `start` to every cell, by breadth-first search; -1: no way."""
    height, width = free.shape
    found = torch.full((height, width), -1, dtype=torch.int64)
    found[start] = 0
    queue = deque([start])
    while queue:
        row, column = queue.popleft()
        for row_move, column_move in MOVES:
            cell = (row + row_move, column + column_move)
            inside = 0 <= cell[0] < height and 0 <= cell[1] < width
            if inside and bool(free[cell]) and found[cell] < 0:
                found[cell] = found[row, column] + 1
                queue.append(cell)
    return found


def farthest(free: Tensor, start: Cell) -> tuple[Cell, int]:
    """The cell that takes most moves to reach, the first of several, and how many it takes."""
    moves = distances(free, start)
    most = int(moves.max())
    row, column = (moves == most).nonzero()[0].tolist()
    return (row, column), most
