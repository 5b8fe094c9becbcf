"""Mazes: connected, with the shortest ways that another program finds, and played one step at a time."""

from pathlib import Path

import networkx
import pytest
import torch

from rle.runs.state import load_state, save_state
from rle.tasks import grid
from rle.tasks.sparse.maze import START, TIME_FACTOR, carve, maze
from rle.tasks.sparse.table_world import TableWorld

SIZES_AND_SEEDS = [(5, 0), (11, 0), (11, 1), (15, 7), (21, 0)]


def graph_of(free: torch.Tensor) -> "networkx.Graph[tuple[int, int]]":
    """The free cells, joined where they touch."""
    whole = networkx.grid_2d_graph(*free.shape)
    return whole.subgraph([cell for cell in whole if free[cell]])


@pytest.mark.parametrize(("size", "seed"), SIZES_AND_SEEDS)
def test_every_free_cell_can_be_reached_and_the_goal_is_the_farthest(size: int, seed: int) -> None:
    free = carve(size, seed)
    rooms = free[::2, ::2]
    assert bool(rooms.all())
    graph = graph_of(free)
    assert networkx.is_connected(graph)
    ways = networkx.single_source_shortest_path_length(graph, START)
    found = grid.distances(free, START)
    assert {cell: int(found[cell]) for cell in ways} == dict(ways)
    assert int((found < 0).sum()) == int((~free).sum())
    rules = maze(size, seed)
    assert ways[rules.goal] == max(ways.values())
    assert rules.time_limit == TIME_FACTOR * ways[rules.goal]


def test_ways_fork_and_meet_again() -> None:
    """A maze without loops has one way less than it has cells; a tenth of the walls more is open."""
    free = carve(21, 0)
    graph = graph_of(free)
    loops = graph.number_of_edges() - (graph.number_of_nodes() - 1)
    # 11 x 11 rooms have 2 · 11 · 10 = 220 walls between them; 120 are opened first, 100 are left.
    assert 3 <= loops <= 20


def test_a_seed_makes_a_maze_and_another_seed_another() -> None:
    assert torch.equal(carve(11, 0), carve(11, 0))
    assert not torch.equal(carve(11, 0), carve(11, 1))


def test_steps_are_those_of_a_single_agent_in_plain_python() -> None:
    size, num_envs = 7, 6
    rules = maze(size, 2)
    task = TableWorld(rules, num_envs, time_limit=60)
    observation = task.reset(0)
    cells, clocks = [START] * num_envs, [0] * num_envs
    actions = torch.randint(0, 4, (400, num_envs), generator=torch.Generator().manual_seed(0))
    successes = 0
    for row in actions:
        shown = torch.stack([seen(rules.free, cell) for cell in cells])
        torch.testing.assert_close(observation, shown)
        step = task.step(row)
        assert step.score is not None
        for env, action in enumerate(row.tolist()):
            cells[env] = moved(rules.free, cells[env], action)
            clocks[env] += 1
            arrived, late = cells[env] == rules.goal, clocks[env] == 60
            successes += arrived
            assert float(step.reward[env]) == float(step.score[env]) == float(arrived)
            assert bool(step.terminated[env]) is arrived
            assert bool(step.truncated[env]) is (late and not arrived)
            torch.testing.assert_close(step.next_observation[env], seen(rules.free, cells[env]))
            if arrived or late:
                cells[env], clocks[env] = START, 0
        observation = step.observation
    assert successes > 0


def moved(free: torch.Tensor, cell: tuple[int, int], action: int) -> tuple[int, int]:
    """Where an action leads from a cell."""
    row, column = ((0, -1), (0, 1), (-1, 0), (1, 0))[action]
    there = (cell[0] + row, cell[1] + column)
    inside = min(there) >= 0 and max(there) < len(free)
    return there if inside and bool(free[there]) else cell


def seen(free: torch.Tensor, cell: tuple[int, int]) -> torch.Tensor:
    """A one in the place of the cell, counted row by row among the free ones."""
    every = [(row, column) for row in range(len(free)) for column in range(len(free))]
    return torch.tensor([float(one == cell) for one in every if free[one]])


def test_a_maze_goes_on_from_where_it_was_saved(tmp_path: Path) -> None:
    first, second = (TableWorld(maze(7, 0), 3) for _ in range(2))
    first.reset(0)
    actions = torch.randint(0, 4, (40, 3), generator=torch.Generator().manual_seed(1))
    for row in actions[:20]:
        first.step(row)
    path = tmp_path / "state.safetensors"
    save_state(path, first.state_dict())
    second.load_state_dict(load_state(path))
    for row in actions[20:]:
        one, other = first.step(row), second.step(row)
        assert torch.equal(one.next_observation, other.next_observation)
        assert torch.equal(one.truncated, other.truncated)


def test_a_maze_is_drawn() -> None:
    task = TableWorld(maze(7, 0), 1)
    task.reset(0)
    assert task.picture().shape == (56, 56, 3)
