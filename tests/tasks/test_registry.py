from __future__ import annotations

import subprocess
import sys

import gymnasium
import pytest
import torch

from rle.config import EnvironmentConfig
from rle.errors import UsageError
from rle.tasks import check_task_name, make_task, task_names
from rle.tasks.fourroom import FourRoom
from rle.tasks.gym import GymTask

CPU = torch.device("cpu")


@pytest.mark.parametrize(
    ("name", "suggestion"),
    [
        ("fourrom", "fourroom"),
        ("fourroom-sparce", "fourroom-sparse"),
        ("fourroom_noisytv", "fourroom-noisytv"),
        ("control/AnymalTerain", "AnymalTerrain"),
        ("gym/CartPol-v1", "gym/CartPole-v1"),
        ("gym/Pendulum", "gym/Pendulum-v1"),
        ("gym/rle/FourRom-v0", "gym/rle/FourRoom-v0"),
        ("FourRoom", "fourroom"),
        ("CartPole-v1", "gym/CartPole-v1"),
        ("Gymnasium/CartPole-v1", "gym/CartPole-v1"),
        ("cartpole", "control/Cartpole' or 'gym/CartPole-v1"),
        ("MountainCar", "gym/MountainCar-v0"),
        ("HalfCheetah-v3", "gym/HalfCheetah-v3"),
        ("halfcheetah", "gym/HalfCheetah-v5"),
        ("Ant", "control/Ant"),
        ("Alien", "atari/Alien"),
        ("Alienn", "atari/Alien"),
        ("BreakoutNoFrameskip-v4", "atari/Breakout"),
        ("gym/ALE/Breakout-v5", "atari/Breakout"),
    ],
)
def test_unknown_names_suggest_the_nearest(
    name: str, suggestion: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Whoever has imported ale-py has its games in Gymnasium's registry too.
    for env_id in [known for known in gymnasium.registry if "Breakout" in known]:
        monkeypatch.delitem(gymnasium.registry, env_id)
    with pytest.raises(UsageError, match=f"did you mean '{suggestion}'"):
        check_task_name(name)


def test_a_name_like_no_other_lists_them_all() -> None:
    with pytest.raises(UsageError) as caught:
        check_task_name("qqq")
    for name in task_names():
        assert name in str(caught.value)


@pytest.mark.parametrize("name", ["fourroom", "fourroom-sparse", "fourroom-noisytv"])
def test_makes_fourroom(name: str) -> None:
    task = make_task(name, EnvironmentConfig(num_envs=7), CPU)
    assert isinstance(task, FourRoom)
    assert task.spec.num_envs == 7
    assert task.time_limit == 1000
    assert task.has_goal == (name == "fourroom-sparse")


def test_the_configuration_reaches_fourroom() -> None:
    config = EnvironmentConfig(num_envs=1, time_limit=3, television=(0, 48))
    task = make_task("fourroom-noisytv", config, CPU)
    task.reset(0)
    left = torch.zeros(1, dtype=torch.int64)
    steps = [task.step(left) for _ in range(3)]
    assert [step.truncated.item() for step in steps] == [False, False, True]
    # The first step leads to (0, 49), which the television covers: x would be 0.96 there.
    assert steps[0].observation[0, 0].item() != pytest.approx(0.96, abs=1e-6)


def test_makes_gymnasium_tasks() -> None:
    task = make_task("gym/CartPole-v1", EnvironmentConfig(num_envs=2), CPU)
    assert isinstance(task, GymTask)
    assert task.reset(0).shape == (2, 4)
    task.close()


def test_which_tasks_there_are_is_said_without_loading_what_they_run_on() -> None:
    heavy = ["torch", "numpy", "gymnasium", "envpool", "mujoco"]
    script = f"""
import sys
from rle.errors import UsageError
from rle.presets import preset_config
from rle.tasks.registry import check_task_name, task_names
task_names()
for task in ("fourroom", "atari/Alien", "control/Ant"):
    check_task_name(task)
    preset_config(task, "rle")
for task in ("atari/Aliien", "control/Aunt"):
    try:
        check_task_name(task)
    except UsageError:
        continue
    raise AssertionError(task)
print([name for name in {heavy} if name in sys.modules])
"""
    found = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert found.stdout.strip() == "[]"
