"""PointMaze: in the open as MuJoCo moves the ball, and never into a wall."""

import numpy as np
import pytest
import torch

from rle.tasks.sparse.pointmaze import LAYOUTS, RADIUS, PointMaze


def place(task: PointMaze, position: list[float], velocity: list[float]) -> None:
    """Put the only ball somewhere; metres from the top left corner, y pointing down."""
    task.reset(0)
    state = task.state_dict()
    state["position"] = torch.tensor([position])
    state["velocity"] = torch.tensor([velocity])
    task.load_state_dict(state)


def seen(task: PointMaze) -> tuple[torch.Tensor, torch.Tensor]:
    """Positions and velocities `[N, 2]`."""
    state = task.state_dict()
    return state["position"], state["velocity"]


def test_one_push_by_hand() -> None:
    """v' = (m v + F dt) / (m + c dt) with m = 4.18879, F = 100 · 0.5 and c = 1; x' = x + v' dt."""
    task = PointMaze("U", 1)
    place(task, [2.5, 1.5], [1.0, 0.0])
    task.step(torch.tensor([[0.5, 0.0]]))
    position, velocity = seen(task)
    speed = (4.18879 * 1.0 + 0.01 * 50) / (4.18879 + 0.01)
    assert velocity[0].tolist() == pytest.approx([speed, 0.0], abs=1e-5)
    assert position[0].tolist() == pytest.approx([2.5 + 0.01 * speed, 1.5], abs=1e-5)


def test_the_ball_moves_as_in_mujoco() -> None:
    envpool = pytest.importorskip("envpool")
    pool = envpool.make("PointMaze_Open-v3", env_type="gymnasium", num_envs=1, seed=3)
    shown, _ = pool.reset()
    before = shown["observation"][0]
    task = PointMaze("U", 1)
    # Far from walls in both; y points up there and down here.
    place(task, [2.5, 1.5], [0.0, 0.0])
    for action in ([1.0, 0.5], [1.0, -1.0], [-0.3, -0.2], [-1.0, 0.0]):
        shown, *_ = pool.step(np.array([action], dtype=np.float32))
        task.step(torch.tensor([[action[0], -action[1]]]))
        after = shown["observation"][0]
        position, velocity = seen(task)
        moved = (position[0] - torch.tensor([2.5, 1.5])) * torch.tensor([1.0, -1.0])
        assert moved.tolist() == pytest.approx((after - before)[:2].tolist(), abs=1e-5)
        turned = velocity[0] * torch.tensor([1.0, -1.0])
        assert turned.tolist() == pytest.approx(after[2:].tolist(), abs=1e-4)


@pytest.mark.parametrize("name", LAYOUTS)
def test_no_ball_gets_into_a_wall(name: str) -> None:
    task = PointMaze(name, 64)
    task.reset(0)
    free = LAYOUTS[name].free()
    source = torch.Generator().manual_seed(0)
    action = torch.zeros(64, 2)
    visited = set()
    for number in range(600):
        if number % 30 == 0:  # Long pushes, so that they come far and hit hard.
            action = 2 * torch.rand(64, 2, generator=source) - 1
        task.step(action.sign())
        position, _ = seen(task)
        for x in (-RADIUS, RADIUS):
            for y in (-RADIUS, RADIUS):
                column, row = (position + torch.tensor([x, y])).floor().long().unbind(1)
                assert bool(free[row, column].all())
        visited |= set(map(tuple, position.floor().long().tolist()))
    assert len(visited) > 3


def test_a_wall_stops_what_leads_into_it_and_nothing_else() -> None:
    task = PointMaze("U", 1)
    place(task, [3.88, 2.5], [3.0, 1.0])
    task.step(torch.zeros(1, 2))
    position, velocity = seen(task)
    assert float(velocity[0, 0]) == 0.0
    assert float(velocity[0, 1]) == pytest.approx(1.0, abs=0.01)
    # The wall begins at 4 m and the ball is 0.1 m wide.
    assert float(position[0, 0]) == pytest.approx(3.9, abs=1e-3)


def test_the_goal_is_at_the_other_end_and_ends_the_episode() -> None:
    """In the U: from the top left cell around to the bottom left one, six moves away."""
    task = PointMaze("U", 1)
    assert task.shortest == 6
    place(task, [1.96, 3.5], [0.0, 0.0])
    assert not bool(task.step(torch.zeros(1, 2)).terminated)
    place(task, [1.94, 3.5], [0.0, 0.0])
    step = task.step(torch.zeros(1, 2))
    assert bool(step.terminated)
    assert float(step.reward) == 1.0
    # Half of five metres is 2.5: (1.94 - 2.5) / 2.5 and (3.5 - 2.5) / 2.5.
    assert step.next_observation[0].tolist() == pytest.approx([-0.224, 0.4, 0.0, 0.0], abs=1e-6)
    assert step.observation[0].tolist() == pytest.approx([-0.4, -0.4, 0.0, 0.0], abs=1e-6)


def test_time_is_up_after_the_maze_s_limit() -> None:
    task = PointMaze("U", 2)
    task.reset(0)
    ends = [bool(task.step(torch.zeros(2, 2)).truncated.all()) for _ in range(300)]
    assert ends == [False] * 299 + [True]
