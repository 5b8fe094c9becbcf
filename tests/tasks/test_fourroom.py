from __future__ import annotations

import math
from pathlib import Path

import pytest
import torch
from torch import Tensor

from rle.errors import UsageError
from rle.runs.state import load_state, save_state
from rle.tasks import fourroom, fourroom_plan
from rle.tasks.base import Step
from rle.tasks.fourroom import FourRoom
from tests.tasks import grid
from tests.tasks.grid import DOWN, LEFT, RIGHT, UP, Cell


def place(
    task: FourRoom, cells: list[Cell], clocks: list[int] | None = None, seed: int = 0
) -> None:
    """Put the task's environments at `cells`."""
    task.reset(seed)
    state = task.state_dict()
    numbers = [fourroom.cell_index(*cell) * fourroom.NUM_ACTIONS for cell in cells]
    state["position"] = torch.tensor(numbers)
    state["clock"] = torch.tensor(clocks or [0] * len(cells))
    task.load_state_dict(state)


def shows(observation: Tensor, cells: list[Cell]) -> bool:
    """Whether the observation `[N, 2]` is the view of `cells`, up to rounding."""
    expected = torch.tensor([grid.view(cell) for cell in cells])
    return torch.allclose(observation, expected, rtol=0, atol=1e-6)


def random_moves(steps: int, num_envs: int, seed: int = 0) -> Tensor:
    return torch.randint(0, 4, (steps, num_envs), generator=torch.Generator().manual_seed(seed))


def assert_same_step(first: Step, second: Step) -> None:
    for name in ("reward", "terminated", "truncated", "next_observation", "observation"):
        assert torch.equal(getattr(first, name), getattr(second, name)), name


def test_free_cells_are_the_description() -> None:
    free = fourroom.free_cells()
    assert free.shape == (51, 51)
    assert free.tolist() == [[grid.is_free((r, c)) for c in range(51)] for r in range(51)]
    # Four rooms of 25 x 25 and four doors.
    assert int(free.sum()) == 4 * 25 * 25 + 4 == 2504


def test_goal_is_100_steps_away_and_every_free_cell_can_be_reached() -> None:
    to_go = grid.distances(fourroom.GOAL)
    assert to_go[fourroom.START] == 100
    assert len(to_go) == 2504


def test_transition_table_agrees_with_the_description_everywhere() -> None:
    table = fourroom.transition_table()
    for cell in grid.distances(grid.GOAL):
        expected = [fourroom.cell_index(*grid.move(cell, action)) for action in range(4)]
        assert table[fourroom.cell_index(*cell)].tolist() == expected


@pytest.mark.parametrize(
    ("cell", "action", "target"),
    [
        ((0, 50), UP, (0, 50)),
        ((0, 50), RIGHT, (0, 50)),
        ((0, 50), LEFT, (0, 49)),
        ((0, 50), DOWN, (1, 50)),
        ((50, 0), DOWN, (50, 0)),
        ((50, 0), LEFT, (50, 0)),
        ((24, 14), DOWN, (24, 14)),
        ((24, 15), DOWN, (25, 15)),
        ((25, 15), LEFT, (25, 15)),
        ((25, 15), RIGHT, (25, 15)),
        ((25, 15), DOWN, (26, 15)),
        ((20, 26), LEFT, (20, 25)),
        ((20, 25), UP, (20, 25)),
        ((19, 26), LEFT, (19, 26)),
        ((30, 24), RIGHT, (30, 25)),
        ((26, 35), UP, (25, 35)),
    ],
)
def test_moves(cell: Cell, action: int, target: Cell) -> None:
    task = FourRoom("fourroom", 1)
    place(task, [cell])
    assert shows(task.step(torch.tensor([action])).observation, [target])


def test_observations_are_centred() -> None:
    assert FourRoom("fourroom", 2).reset(0).tolist() == [[1.0, 1.0], [1.0, 1.0]]
    coordinates = fourroom.coordinates()
    assert coordinates[fourroom.cell_index(*fourroom.GOAL)].tolist() == [-1.0, -1.0]
    assert coordinates[fourroom.cell_index(25, 15)].tolist() == pytest.approx([-0.4, 0.0], abs=1e-6)
    assert coordinates.mean(0).tolist() == pytest.approx([0.0, 0.0], abs=1e-6)


def test_time_limit_is_exactly_1000_steps_and_starts_again() -> None:
    task = FourRoom("fourroom", 3)
    observation = task.reset(0)
    for episode in range(2):
        cells = [grid.START] * 3
        for number, action in enumerate(random_moves(1000, 3, seed=episode), start=1):
            step = task.step(action)
            cells = [grid.move(cell, int(a)) for cell, a in zip(cells, action, strict=True)]
            assert shows(step.next_observation, cells)
            assert step.truncated.tolist() == [number == 1000] * 3
            assert torch.equal(step.observation, step.next_observation) == (number < 1000)
            assert not step.terminated.any()
            assert not step.reward.any()
            assert step.real is None
            observation = step.observation
        assert grid.START not in cells
        assert shows(observation, [grid.START] * 3)


def test_each_environment_has_its_own_clock() -> None:
    task = FourRoom("fourroom", 3)
    place(task, [(10, 10), (10, 10), (10, 10)], clocks=[998, 0, 999])
    up = torch.full((3,), UP)
    first, second = task.step(up), task.step(up)
    assert first.truncated.tolist() == [False, False, True]
    assert shows(first.next_observation, [(9, 10), (9, 10), (9, 10)])
    assert shows(first.observation, [(9, 10), (9, 10), grid.START])
    assert second.truncated.tolist() == [True, False, False]
    for _ in range(997):
        assert not task.step(up).truncated.any()
    assert task.step(up).truncated.tolist() == [False, True, False]
    assert task.step(up).truncated.tolist() == [False, False, True]


def test_sparse_goal_ends_the_episode_with_reward_1() -> None:
    task = FourRoom("fourroom-sparse", 2)
    task.reset(0)
    path = grid.shortest_path(grid.START, grid.GOAL)
    for number, action in enumerate(path, start=1):
        # The second environment walks into the wall beside the start.
        step = task.step(torch.tensor([action, UP]))
        arrived = number == 100
        assert step.reward.tolist() == [float(arrived), 0.0]
        assert step.terminated.tolist() == [arrived, False]
        assert not step.truncated.any()
    assert shows(step.next_observation, [grid.GOAL, grid.START])
    assert shows(step.observation, [grid.START, grid.START])
    # The new episode has a new clock: only the second environment times out 900 steps later.
    for _ in range(899):
        assert not task.step(torch.tensor([UP, UP])).truncated.any()
    assert task.step(torch.tensor([UP, UP])).truncated.tolist() == [False, True]


def test_reaching_the_goal_at_the_time_limit_is_a_termination() -> None:
    task = FourRoom("fourroom-sparse", 1, time_limit=100)
    task.reset(0)
    for action in grid.shortest_path(grid.START, grid.GOAL):
        step = task.step(torch.tensor([action]))
    assert step.terminated.item()
    assert not step.truncated.item()


def test_goal_is_an_ordinary_cell_without_the_sparse_reward() -> None:
    task = FourRoom("fourroom", 1)
    place(task, [(50, 1)])
    step = task.step(torch.tensor([LEFT]))
    assert shows(step.observation, [grid.GOAL])
    assert not step.terminated.any()
    assert not step.reward.any()


def test_television_is_random_inside_and_nowhere_else() -> None:
    screen = {(12, 37), (12, 38), (13, 37), (13, 38)}
    num_envs = 128
    quiet, noisy = FourRoom("fourroom", num_envs), FourRoom("fourroom-noisytv", num_envs)
    cells = [(12, 36)] * num_envs
    place(quiet, cells)
    place(noisy, cells)
    shown = []
    for action in random_moves(100, num_envs):
        cells = [grid.move(cell, int(a)) for cell, a in zip(cells, action, strict=True)]
        inside = torch.tensor([cell in screen for cell in cells])
        truth, seen = quiet.step(action).observation, noisy.step(action).observation
        assert torch.equal(seen[~inside], truth[~inside])
        assert (seen[inside] != truth[inside]).any(-1).all()
        shown.append(seen[inside])
    noise = torch.cat(shown)
    assert len(noise) > 200
    assert len({tuple(row) for row in noise.tolist()}) == len(noise)
    # Uniform on [-1, 1] has mean 0 and deviation 1 / sqrt(3); a few hundred draws come this close.
    assert noise.abs().max() <= 1
    assert noise.mean(0).tolist() == pytest.approx([0, 0], abs=0.15)
    assert noise.std(0).tolist() == pytest.approx([1 / math.sqrt(3)] * 2, abs=0.1)


def test_television_noise_follows_the_seed() -> None:
    def watch(seed: int) -> Tensor:
        task = FourRoom("fourroom-noisytv", 4)
        place(task, [(11, 37)] * 4, seed=seed)
        return task.step(torch.full((4,), DOWN)).observation

    assert torch.equal(watch(1), watch(1))
    assert not torch.equal(watch(1), watch(2))


@pytest.mark.parametrize("corner", [(24, 3), (12, 24), (0, 49), (-1, 3), (50, 50), (3, 50)])
def test_television_must_fit_into_a_room(corner: Cell) -> None:
    with pytest.raises(UsageError, match="free 2 x 2 square"):
        FourRoom("fourroom-noisytv", 1, television=corner)


def test_thousands_of_environments_move_independently() -> None:
    task = FourRoom("fourroom", 5000)
    task.reset(0)
    moves = random_moves(30, 5000)
    for action in moves:
        step = task.step(action)
    assert step.observation.shape == (5000, 2)
    for env in range(0, 5000, 499):
        cell = grid.START
        for action in moves[:, env].tolist():
            cell = grid.move(cell, action)
        assert step.observation[env].tolist() == pytest.approx(grid.view(cell), abs=1e-6)
    assert int(task.visits().sum()) == 30 * 5000


def test_measures_count_cells_that_were_entered() -> None:
    task = FourRoom("fourroom", 1)
    task.reset(0)
    assert task.measures()["coverage"] == 0
    assert task.measures()["visitation_entropy"] == 0
    for action in (LEFT, RIGHT, LEFT, LEFT):
        task.step(torch.tensor([action]))
    # Entered: (0, 49) twice, (0, 50) once, (0, 48) once.
    measures = task.measures()
    assert measures["coverage"] == pytest.approx(3 / 2504)
    assert measures["visitation_entropy"] == pytest.approx(0.5 * math.log(2) + 0.5 * math.log(4))
    assert measures["visitation_entropy_max"] == pytest.approx(math.log(2504))
    visits = task.artefacts()["visits"]
    assert visits[0, 48:].tolist() == [1, 2, 1]
    assert int(visits.sum()) == 4
    task.reset(0)
    assert int(task.visits().sum()) == 0


@pytest.mark.parametrize("variant", fourroom_plan.VARIANTS)
def test_goes_on_exactly_from_a_saved_state(variant: str, tmp_path: Path) -> None:
    # Around the television, near the goal, and about to time out.
    cells, clocks = [(12, 37), (13, 38), (49, 1), (5, 5)], [0, 7, 3, 990]
    task, restored = FourRoom(variant, 4), FourRoom(variant, 4)
    place(task, cells, clocks)
    moves = random_moves(60, 4)
    for action in moves[:20]:
        task.step(action)
    save_state(tmp_path / "task.safetensors", task.state_dict())
    restored.load_state_dict(load_state(tmp_path / "task.safetensors"))
    for action in moves[20:]:
        assert_same_step(task.step(action), restored.step(action))
    assert torch.equal(task.visits(), restored.visits())
    assert int(restored.visits().sum()) == 4 * 60
