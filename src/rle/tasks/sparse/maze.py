"""Mazes made from a seed, with a goal where the way is longest.

A maze has `size` x `size` cells, `size` being odd. Those in even rows and columns are rooms; a
randomised depth-first search opens walls between neighbouring rooms until each can be reached by one
way. Then a tenth of the walls that still part neighbouring rooms is opened, so that ways fork and meet
again. The agent starts in the top left corner, moves left, right, up or down, and stays where it is if a
wall is in the way; the goal, the cell that takes most moves to reach, gives 1 and ends the episode, as
does a time limit of ten times as many steps. Observed is the cell, a one among zeros for the other free
cells: by its coordinates alone, a small network cannot tell a turning from the next.
"""

from __future__ import annotations

import random

import torch
from torch import Tensor

from rle.tasks.grid import Cell, farthest, transition_table
from rle.tasks.sparse.table_world import Rules

OPENED = 0.1
"""Share of the walls between neighbouring rooms that are opened once every room can be reached."""
TIME_FACTOR = 10
"""Steps of an episode for each move of the shortest way; FourRoom has as many."""
START: Cell = (0, 0)


def carve(size: int, seed: int) -> Tensor:
    """Bool `[size, size]`: True where the agent can be."""
    source = random.Random(seed)
    free = torch.zeros(size, size, dtype=torch.bool)
    free[START] = True
    trail = [START]
    while trail:
        closed = [room for room in _neighbours(trail[-1], size) if not free[room]]
        if not closed:
            trail.pop()
            continue
        # Only `random()` is promised to give the same numbers in every version of Python.
        room = closed[int(source.random() * len(closed))]
        free[_between(trail[-1], room)] = free[room] = True
        trail.append(room)
    _open_some(free, size, source)
    return free


def _open_some(free: Tensor, size: int, source: random.Random) -> None:
    rooms = [(row, column) for row in range(0, size, 2) for column in range(0, size, 2)]
    pairs = [(room, other) for room in rooms for other in _neighbours(room, size) if other > room]
    walls = [_between(*pair) for pair in pairs if not free[_between(*pair)]]
    for wall in walls:
        if source.random() < OPENED:
            free[wall] = True


def _neighbours(room: Cell, size: int) -> list[Cell]:
    row, column = room
    found = [(row, column - 2), (row, column + 2), (row - 2, column), (row + 2, column)]
    return [(r, c) for r, c in found if 0 <= r < size and 0 <= c < size]


def _between(room: Cell, other: Cell) -> Cell:
    return (room[0] + other[0]) // 2, (room[1] + other[1]) // 2


def maze(size: int, seed: int) -> Rules:
    """The rules of the maze with this size and seed."""
    free = carve(size, seed)
    goal, shortest = farthest(free, START)
    moves = transition_table(free)
    at_goal = torch.zeros(size * size, dtype=torch.bool)
    at_goal[goal[0] * size + goal[1]] = True
    arrives = at_goal[moves]
    return Rules(
        moves=moves,
        reward=arrives.float(),
        success=arrives,
        over=at_goal,
        view=torch.eye(size * size)[:, free.flatten()],
        free=free,
        goal=goal,
        time_limit=TIME_FACTOR * shortest,
    )
