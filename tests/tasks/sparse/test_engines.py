"""The suite's tasks on EnvPool: when an episode succeeds, and what is seen."""

import numpy as np
import pytest
import torch

from rle.config import EnvironmentConfig
from rle.tasks.registry import make_task

pytest.importorskip("envpool")

from rle.tasks.sparse.antfree import AntFree
from rle.tasks.sparse.minigrid import SIZE, MiniGridTask
from rle.tasks.sparse.successes import SuccessTask
from rle.tasks.suite import Wanted
from rle.tasks.suites.sparse import ENGINES, Engine

CPU = torch.device("cpu")


def made(name: str, num_envs: int = 2) -> SuccessTask:
    task = make_task(f"sparse/{name}", EnvironmentConfig(num_envs=num_envs), CPU)
    assert isinstance(task, SuccessTask)
    return task


def test_a_car_that_rocks_succeeds_at_the_top_and_one_that_waits_does_not() -> None:
    task = made("MountainCar")
    observation = task.reset(0)
    total = torch.zeros(2)
    rewards = torch.zeros(2)
    ended = torch.zeros(2, dtype=torch.bool)
    for _ in range(200):
        # The first is pushed the way it is going; the second is left alone.
        action = torch.tensor([2 if float(observation[0, 1]) >= 0 else 0, 1])
        step = task.step(action)
        assert step.score is not None
        total += torch.where(ended, 0.0, step.score)
        rewards += torch.where(ended, 0.0, step.reward)
        ended |= step.terminated | step.truncated
        observation = step.observation
    assert total.tolist() == [1.0, 0.0]
    assert rewards[1] == -200.0
    task.close()


def test_rewarded_steps_are_counted_until_there_are_enough() -> None:
    """Three of them: at the third the score is 1, before and after 0; an end starts anew."""
    task = SuccessTask(
        Engine("CartpoleSwingupSparse-v1", 100, False, 3, ("position", "velocity"), "control"),
        Wanted("", EnvironmentConfig(num_envs=2), CPU),
    )
    never = np.zeros(2, dtype=np.bool_)
    ends = np.array([True, False])
    rewards = ([1, 1], [0, 1], [1, 0], [1, 1], [1, 1], [1, 0], [1, 0], [1, 0])
    scores = []
    for number, reward in enumerate(rewards):
        over = ends if number == 4 else never
        scores.append(task._record(np.array(reward, dtype=float), never, over, {})[0].tolist())
    assert scores == [[0, 0], [0, 0], [0, 0], [1, 1], [0, 0], [0, 0], [0, 0], [1, 0]]
    # A call that only resets is no step of an episode, whatever reward EnvPool repeats there.
    task._good[:] = 2
    task._no_transition = np.array([True, False])
    assert task._record(np.ones(2), never, never, {})[0].tolist() == [0, 1]


def test_a_held_action_is_four_frames_of_the_same_and_an_episode_as_long() -> None:
    held = made("CartpoleSwingupSparse")
    engine = ENGINES["CartpoleSwingupSparse"]._replace(held=1)
    frame_by_frame = SuccessTask(engine, Wanted("", EnvironmentConfig(num_envs=2), CPU))
    torch.testing.assert_close(held.reset(0), frame_by_frame.reset(0))
    for number in range(250):
        action = torch.full((2, 1), -1.0 if number % 2 else 0.5)
        step = held.step(action)
        for _ in range(4):
            frame = frame_by_frame.step(action)
        torch.testing.assert_close(step.next_observation, frame.next_observation)
        assert step.truncated.tolist() == frame.truncated.tolist() == [number == 249] * 2
    held.close()
    frame_by_frame.close()


@pytest.mark.parametrize("name", ENGINES)
def test_each_can_be_played(name: str) -> None:
    task = made(name)
    assert task.reset(0).shape == (2, *task.spec.observation_shape)
    size = getattr(task.spec.action_space, "size", None)
    for _ in range(3):
        step = task.step(torch.zeros(2, dtype=torch.int64) if size is None else torch.ones(2, size))
        assert bool(step.next_observation.isfinite().all())
        assert step.score is not None
    task.close()


def test_a_view_has_a_one_for_object_colour_and_state_of_each_cell_and_one_for_the_direction() -> (
    None
):
    task = made("DoorKey-8x8")
    assert isinstance(task, MiniGridTask)
    observation = task.reset(0)
    assert observation.shape == (2, SIZE) == (2, 49 * (11 + 6 + 3) + 4)
    assert observation.unique().tolist() == [0.0, 1.0]
    assert observation.sum(1).tolist() == [3 * 49 + 1.0] * 2
    image = np.zeros((1, 7, 7, 3), np.uint8)
    image[0, 0, 1] = (4, 3, 2)  # A door, purple, locked: the second cell.
    vector = task.layout.tensor({"image": image, "direction": np.array([3])})[0]
    ones = vector.nonzero().flatten().tolist()
    assert 1 * 11 + 4 in ones
    assert 49 * 11 + 1 * 6 + 3 in ones
    assert 49 * 17 + 1 * 3 + 2 in ones
    assert ones[-1] == 49 * 20 + 3
    assert len(ones) == 3 * 49 + 1
    task.close()


def test_ants_are_not_rewarded_do_not_see_where_they_are_and_are_mapped() -> None:
    task = make_task("sparse/AntFree", EnvironmentConfig(num_envs=2), CPU)
    assert isinstance(task, AntFree)
    task.reset(0)
    assert task.spec.observation_shape == (105,)
    never = np.zeros(2, dtype=np.bool_)
    nothing = np.zeros(2)

    def be(x: list[float], y: list[float]) -> None:
        places = {"x_position": np.array(x), "y_position": np.array(y)}
        task._record(nothing, never, never, places)

    be([0.5, -0.5], [0.5, 0.5])
    be([0.9, 24.99], [0.1, -25.0])
    be([25.0, 3.0], [0.0, -25.01])  # Both beyond the edge.
    task._no_transition[:] = True
    be([7.0, 8.0], [7.0, 8.0])  # Only reset.
    task._no_transition[:] = False
    assert task.measures() == {"coverage": 3 / 2500}
    visits = task.artefacts()["visits"]
    assert int(visits[25, 25]) == 2
    assert int(visits[24, 25]) == int(visits[49, 0]) == 1
    assert int(visits.sum()) == 4
    step = task.step(torch.ones(2, 8))
    assert step.reward.tolist() == [0.0, 0.0]
    assert step.score is None
    with pytest.warns(UserWarning, match="new episodes"):
        task.load_state_dict(task.state_dict())
    assert task.measures()["coverage"] >= 3 / 2500
    task.close()
