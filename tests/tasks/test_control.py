"""The nine control tasks: sizes, bounds, ends of episodes, and what the agent sees."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from rle.config import EnvironmentConfig
from rle.errors import UsageError
from rle.tasks.base import Continuous, Step, Task, random_actions
from rle.tasks.envpool import EnvPoolTask
from rle.tasks.registry import make_task
from rle.tasks.suites.control import TASKS

SIZES = {
    "Ant": (105, 8),
    "Humanoid": (348, 17),
    "Cartpole": (5, 1),
    "FrankaCabinet": (55, 8),
    "Anymal": (81, 12),
    "AnymalTerrain": (48, 12),
    "AllegroHand": (57, 16),
    "ShadowHand": (61 + 7 + 7, 20),
    "BallBalance": (12, 3),
}
"""Numbers that the agent sees, and numbers that it chooses."""
LIMIT = 4


def make(name: str, num_envs: int = 2, **settings: Any) -> Task:
    config = EnvironmentConfig(num_envs=num_envs, **settings)
    return make_task(f"control/{name}", config, torch.device("cpu"), engine_threads=1)


def play(task: Task, steps: int, seed: int = 0) -> list[Step]:
    source = torch.Generator().manual_seed(seed)
    space, num_envs = task.spec.action_space, task.spec.num_envs
    return [task.step(random_actions(space, num_envs, source)) for _ in range(steps)]


def test_these_are_the_nine() -> None:
    assert set(SIZES) == set(TASKS)


@pytest.mark.parametrize("name", SIZES)
def test_sizes_ends_and_the_true_last_observation(name: str) -> None:
    task = make(name, time_limit=LIMIT)
    size, actions = SIZES[name]
    assert task.spec.observation_shape == (size,)
    assert isinstance(task.spec.action_space, Continuous)
    assert task.spec.action_space.size == actions
    first = task.reset(1)
    assert first.shape == (2, size)
    assert first.dtype == torch.float32
    # Each environment has random numbers of its own.
    assert not torch.equal(first[0], first[1])

    steps = play(task, LIMIT + 2)
    for step in steps:
        assert bool(step.next_observation.isfinite().all())
        assert step.reward.dtype == torch.float32
    ended = [bool(step.truncated.all()) for step in steps]
    assert ended == [number == LIMIT - 1 for number in range(LIMIT + 2)]
    assert not any(bool(step.terminated.any()) for step in steps)
    last, after = steps[LIMIT - 1], steps[LIMIT]
    # One small step away from the state before it, and not a new episode's first.
    moved = (last.next_observation - steps[LIMIT - 2].next_observation).norm()
    jumped = (last.next_observation - after.observation).norm()
    assert float(moved) > 0
    assert float(jumped) > 0
    if name == "BallBalance":
        # It resets within the step, so that no call is lost.
        assert after.real is None
        assert not torch.equal(last.next_observation, last.observation)
    else:
        assert last.real is not None
        assert bool(last.real.all())
        assert after.real is not None
        assert not bool(after.real.any())
        assert after.reward.tolist() == [0.0, 0.0]
        assert bool(steps[LIMIT + 1].real.all())
    task.close()


@pytest.mark.parametrize("name", ["Ant", "Cartpole", "ShadowHand", "BallBalance"])
def test_same_seed_same_play(name: str) -> None:
    plays = []
    for seed in (3, 3, 4):
        task = make(name)
        task.reset(seed)
        plays.append(torch.stack([step.observation for step in play(task, 5)]))
        task.close()
    assert torch.equal(plays[0], plays[1])
    assert not torch.equal(plays[0], plays[2])


def test_a_fall_terminates_and_the_call_after_it_only_resets() -> None:
    """A humanoid that flails lies down within 100 steps; the time limit is far away."""
    task = make("Humanoid")
    task.reset(0)
    fell = np.zeros(2, dtype=bool)
    falls = 0
    for step in play(task, 100):
        real = np.ones(2, dtype=bool) if step.real is None else step.real.numpy()
        assert (real == ~fell).all()
        assert not bool(step.truncated.any())
        assert bool((step.reward[~torch.from_numpy(real)] == 0).all())
        fell = step.terminated.numpy()
        falls += int(fell.sum())
    assert falls > 2
    task.close()


def test_cartpoles_repeated_reward_is_not_counted_twice() -> None:
    """EnvPool hands out the last reward again on the call that resets this task."""
    task = make("Cartpole", time_limit=LIMIT)
    task.reset(0)
    assert isinstance(task, EnvPoolTask)
    rewards = torch.stack([step.reward for step in play(task, LIMIT + 1)])
    assert bool((rewards[:-1] > 0).all())
    assert rewards[-1].tolist() == [0.0, 0.0]
    task.close()


def test_the_agent_does_not_see_what_only_the_simulator_knows() -> None:
    whole = make_task(
        "envpool/LeapCubeReorient-v1", EnvironmentConfig(num_envs=2), torch.device("cpu")
    )
    task = make("AllegroHand")
    assert whole.spec.observation_shape == (57 + 128,)
    torch.testing.assert_close(task.reset(5), whole.reset(5)[:, :57])
    task.close()
    whole.close()


def test_parts_come_in_the_order_of_the_environments_dictionary() -> None:
    task = make("ShadowHand")
    assert isinstance(task, EnvPoolTask)
    shown = task.reset(0)
    observed, *_ = task.engine.step(np.zeros((2, 20), np.float32))
    tensor = task.layout.tensor(observed)
    for name, columns in (
        ("observation", slice(0, 61)),
        ("achieved_goal", slice(61, 68)),
        ("desired_goal", slice(68, 75)),
    ):
        expected = torch.from_numpy(observed[name].astype(np.float32))
        assert torch.equal(tensor[:, columns], expected)
    # The goal stays for the whole episode.
    assert torch.equal(tensor[:, 68:], shown[:, 68:])
    task.close()


def test_bounds_are_the_robots() -> None:
    humanoid, ant = (make(name).spec.action_space for name in ("Humanoid", "Ant"))
    assert isinstance(humanoid, Continuous)
    assert isinstance(ant, Continuous)
    assert humanoid.high == pytest.approx([0.4] * 17)
    assert ant.high == (1.0,) * 8


def test_actions_beyond_the_bounds_are_clipped() -> None:
    ends = []
    for size in (1.0, 7.0):
        task = make("Ant")
        task.reset(0)
        ends.append(task.step(torch.full((2, 8), size)).next_observation)
        task.close()
    assert torch.equal(*ends)


def test_engine_threads_change_nothing() -> None:
    plays = []
    for threads in (1, 2):
        config = EnvironmentConfig(num_envs=3)
        task = make_task("control/BallBalance", config, torch.device("cpu"), engine_threads=threads)
        task.reset(0)
        plays.append(torch.stack([step.observation for step in play(task, 3)]))
        task.close()
    assert torch.equal(*plays)


@pytest.mark.parametrize(
    ("name", "suggestion"), [("Humanoidd", "Humanoid"), ("ant", "Ant"), ("ShadowHnd", "ShadowHand")]
)
def test_an_unknown_name_is_answered_with_the_nearest(name: str, suggestion: str) -> None:
    with pytest.raises(UsageError, match=f"did you mean '{suggestion}'"):
        make(name)


def test_without_envpool_the_command_that_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "envpool", None)
    with pytest.raises(UsageError, match=r'pip install "random-latent-exploration\[control\]"'):
        make("Ant")
