from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from rle.config import EnvironmentConfig
from rle.runs.state import load_state, save_state
from rle.tasks.base import Step, random_actions
from rle.tasks.gym import GymTask
from tests.probes import gymnasium_environments

gymnasium_environments.register()

MODES = ("next-step", "same-step")
NUM_ENVS = 3
SEED = 5


def make(env_id: str, **settings: Any) -> GymTask:
    return GymTask(env_id, EnvironmentConfig(num_envs=NUM_ENVS, **settings), "cpu")


def assert_same(first: Step, second: Step) -> None:
    for name, expected in first._asdict().items():
        actual = getattr(second, name)
        if isinstance(expected, Tensor):
            assert torch.equal(expected, actual), name
        else:
            assert expected is actual, name


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("env_id", "settings"),
    [
        ("CartPole-v1", {}),
        ("Pendulum-v1", {"time_limit": 6}),
        # These two are random in every step, not only when an episode begins.
        ("FrozenLake-v1", {}),
        ("probe/Drifting-v0", {}),
        ("probe/Filming-v0", {"frame_stack": 3}),
    ],
)
def test_goes_on_bit_for_bit_from_any_step(
    env_id: str, settings: dict[str, Any], mode: str, tmp_path: Path
) -> None:
    task = make(env_id, autoreset=mode, **settings)
    source = torch.Generator().manual_seed(0)
    actions = [random_actions(task.spec.action_space, NUM_ENVS, source) for _ in range(70)]
    first = task.reset(SEED)
    steps: list[Step] = []
    for number, action in enumerate(actions):
        save_state(tmp_path / f"{number}.safetensors", task.state_dict())
        steps.append(task.step(action))
    # Otherwise no episode was over, or waited for its reset, where this test resumes.
    assert any(bool((step.terminated | step.truncated).any()) for step in steps[:30])
    assert (mode == "next-step") == any(step.real is not None for step in steps[:30])
    for number in range(40):
        restored = make(env_id, autoreset=mode, **settings)
        restored.load_state_dict(load_state(tmp_path / f"{number}.safetensors"))
        for action, expected in zip(actions[number:], steps[number : number + 25], strict=False):
            assert_same(expected, restored.step(action))
    assert torch.equal(task.reset(SEED), first)


def test_a_restored_task_can_be_saved_and_restored_again() -> None:
    task, second, third = (make("CartPole-v1") for _ in range(3))
    task.reset(SEED)
    action = torch.ones(NUM_ENVS, dtype=torch.int64)
    for _ in range(15):
        task.step(action)
    second.load_state_dict(task.state_dict())
    third.load_state_dict(second.state_dict())
    for _ in range(15):
        assert_same(task.step(action), third.step(action))


def test_a_saved_state_does_not_change_as_the_task_goes_on() -> None:
    task = make("CartPole-v1")
    task.reset(SEED)
    action = torch.ones(NUM_ENVS, dtype=torch.int64)
    task.step(action)
    state = task.state_dict()
    steps = [task.step(action) for _ in range(30)]
    restored = make("CartPole-v1")
    restored.load_state_dict(state)
    for expected in steps:
        assert_same(expected, restored.step(action))


@pytest.mark.parametrize("mode", MODES)
def test_an_environment_that_does_not_repeat_itself_starts_new_episodes(mode: str) -> None:
    task, restored = (make("probe/Unrepeatable-v0", autoreset=mode) for _ in range(2))
    action = torch.zeros(NUM_ENVS, dtype=torch.int64)
    task.reset(SEED)
    step = task.step(action)
    assert step.observation[:, 1].tolist() == [1] * NUM_ENVS
    with pytest.warns(UserWarning, match="does not repeat itself") as caught:
        restored.load_state_dict(task.state_dict())
    assert len(caught) == 1
    assert str(caught[0].message).count(".") == 1
    # This action was chosen for an observation that is no more: it makes no transition.
    step = restored.step(action)
    assert step.real is not None
    assert not step.real.any()
    assert not step.reward.any()
    assert step.observation[:, 1].tolist() == [1] * NUM_ENVS
    assert restored.step(action).real is None or mode == "next-step"
