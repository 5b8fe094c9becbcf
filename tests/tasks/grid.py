"""FourRoom once more, written from its description alone, to hold the package's against."""

from __future__ import annotations

from collections import deque

DOORS = {(25, 15), (25, 35), (20, 25), (30, 25)}
START = (0, 50)
GOAL = (50, 0)
LEFT, RIGHT, UP, DOWN = range(4)

Cell = tuple[int, int]


def is_free(cell: Cell) -> bool:
    """Whether the agent can be at (row, column)."""
    row, column = cell
    on_grid = 0 <= row <= 50 and 0 <= column <= 50
    return on_grid and ((row != 25 and column != 25) or cell in DOORS)


def move(cell: Cell, action: int) -> Cell:
    """Where an action leads."""
    row, column = cell
    target = {
        LEFT: (row, column - 1),
        RIGHT: (row, column + 1),
        UP: (row - 1, column),
        DOWN: (row + 1, column),
    }[action]
    return target if is_free(target) else cell


def distances(target: Cell) -> dict[Cell, int]:
    """Steps from every cell that can reach `target`, by breadth-first search."""
    found = {target: 0}
    queue = deque([target])
    while queue:
        cell = queue.popleft()
        # All moves can be undone, so searching backwards is searching forwards.
        for action in (LEFT, RIGHT, UP, DOWN):
            neighbour = move(cell, action)
            if neighbour not in found:
                found[neighbour] = found[cell] + 1
                queue.append(neighbour)
    return found


def shortest_path(start: Cell, target: Cell) -> list[int]:
    """Actions that lead from `start` to `target` without a detour."""
    to_go = distances(target)
    cell, actions = start, []
    while cell != target:
        actions.append(min((LEFT, RIGHT, UP, DOWN), key=lambda a: to_go[move(cell, a)]))
        cell = move(cell, actions[-1])
    return actions


def view(cell: Cell) -> tuple[float, float]:
    """Centred (x, y): columns grow to the right, rows downwards."""
    row, column = cell
    return (column - 25) / 25, (25 - row) / 25
