from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator

import gymnasium
import numpy as np
import pytest
import torch
from gymnasium.utils.env_checker import check_env

from rle.config import EnvironmentConfig
from rle.environments import register
from rle.errors import UsageError
from rle.tasks import ballbalance
from rle.tasks.ballbalance import BallBalance
from rle.tasks.ballbalance_gym import BallBalanceEnv
from rle.tasks.base import random_actions
from rle.tasks.gym import GymTask

ENVIRONMENT = "rle/BallBalance-v0"


def run(script: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **variables},
    )


@pytest.fixture
def drawing() -> Iterator[BallBalanceEnv]:
    environment = gymnasium.make(ENVIRONMENT, render_mode="rgb_array").unwrapped
    assert isinstance(environment, BallBalanceEnv)
    try:
        environment.render()
    except UsageError as error:
        pytest.skip(str(error))
    yield environment
    environment.close()


def test_importing_the_package_registers_the_environment_once() -> None:
    before = gymnasium.registry[ENVIRONMENT]
    register()
    assert gymnasium.registry[ENVIRONMENT] is before
    assert before.max_episode_steps == ballbalance.TIME_LIMIT == 500


def test_passes_gymnasiums_own_checker(drawing: BallBalanceEnv) -> None:
    # Whatever the checker would warn of is an error in these tests.
    check_env(drawing)


def test_same_trajectory_as_the_tensor_task_from_the_same_state() -> None:
    num_envs = 4
    task = BallBalance(num_envs, num_threads=2)
    task.reset(0)
    environments = [BallBalanceEnv() for _ in range(num_envs)]
    for environment, state in zip(environments, task.state_dict()["physics"], strict=True):
        environment.reset()
        environment.state = state[None].numpy()
    source = torch.Generator().manual_seed(1)
    over = np.zeros(num_envs, np.bool_)
    for _ in range(200):
        action = random_actions(task.spec.action_space, num_envs, source)
        step = task.step(action)
        for index in np.flatnonzero(~over):
            observation, reward, terminated, _, _ = environments[index].step(action[index].numpy())
            assert np.array_equal(observation, step.next_observation[index].numpy())
            assert np.float32(reward) == step.reward[index].item()
            assert terminated == step.terminated[index].item()
            over[index] = terminated
    assert over.all()
    task.close()
    for environment in environments:
        environment.close()


def test_beginnings_follow_the_seed() -> None:
    environment = gymnasium.make(ENVIRONMENT)
    first, _ = environment.reset(seed=1)
    second, _ = environment.reset()
    assert not np.array_equal(first, second)
    assert np.array_equal(environment.reset(seed=1)[0], first)
    assert np.array_equal(environment.reset()[0], second)
    environment.close()


def test_is_truncated_after_500_steps() -> None:
    environment = gymnasium.make(ENVIRONMENT)
    environment.reset(seed=0)
    base = environment.unwrapped
    assert isinstance(base, BallBalanceEnv)
    base.state = base.world.rest[None]
    for number in range(1, 501):
        _, reward, terminated, truncated, _ = environment.step(np.zeros(3, np.float32))
        assert 0.9 < float(reward) <= 1.0
        assert (terminated, truncated) == (False, number == 500)
    environment.close()


def test_resumes_exactly_as_any_gymnasium_task() -> None:
    config = EnvironmentConfig(num_envs=2, autoreset="same-step")
    task, restored = (GymTask(ENVIRONMENT, config, "cpu") for _ in range(2))
    task.reset(0)
    source = torch.Generator().manual_seed(0)
    actions = [random_actions(task.spec.action_space, 2, source) for _ in range(150)]
    for action in actions[:100]:
        task.step(action)
    restored.load_state_dict(task.state_dict())
    for action in actions[100:]:
        first, second = task.step(action), restored.step(action)
        assert torch.equal(first.next_observation, second.next_observation)
        assert torch.equal(first.observation, second.observation)
        assert torch.equal(first.reward, second.reward)
    task.close()
    restored.close()


def test_pictures_follow_the_ball(drawing: BallBalanceEnv) -> None:
    world = drawing.world
    pictures = []
    for x in (-0.15, 0.15):
        drawing.state = world.rest[None].copy()
        drawing.state[0, world.ball_position[0]] = x
        picture = drawing.render()
        assert picture is not None
        pictures.append(picture)
    assert pictures[0].shape == (480, 640, 3)
    assert pictures[0].dtype == np.uint8
    columns = []
    for picture in pictures:
        red, green, blue = picture.astype(int).transpose(2, 0, 1)
        orange = (red > 150) & (green < 0.7 * red) & (blue < 0.3 * red)
        columns.append(np.argwhere(orange)[:, 1].mean())
    # The camera looks from the front: larger x is further right.
    assert columns[0] < 320 < columns[1]


def test_without_a_render_mode_there_is_no_picture() -> None:
    environment = BallBalanceEnv()
    assert environment.render() is None
    environment.close()


def test_without_mujoco_one_sentence_says_what_installs_it() -> None:
    script = f"""
import sys
sys.modules["mujoco"] = None
import gymnasium, rle
from rle.config import EnvironmentConfig
from rle.environments import register
from rle.tasks.ballbalance import BallBalance
from rle.tasks.gym import GymTask
makers = (
    lambda: BallBalance(2),
    lambda: gymnasium.make({ENVIRONMENT!r}),
    lambda: GymTask({ENVIRONMENT!r}, EnvironmentConfig(), "cpu"),
)
for make in makers:
    try:
        make()
    except rle.UsageError as error:
        print(error)
"""
    result = run(script)
    sentence = (
        "BallBalance needs MuJoCo, which is not installed: "
        'pip install "random-latent-exploration[control]".'
    )
    assert result.stdout.splitlines() == [sentence] * 3, result.stderr


def test_without_graphics_one_sentence_says_what_to_do() -> None:
    script = """
from rle import UsageError
from rle.tasks.ballbalance_gym import BallBalanceEnv
environment = BallBalanceEnv("rgb_array")
environment.reset(seed=0)
try:
    environment.render()
except UsageError as error:
    print(error)
"""
    result = run(script, MUJOCO_GL="disable")
    assert "libegl1" in result.stdout, result.stderr
    assert len(result.stdout.splitlines()) == 1
    assert result.stderr == ""


def test_a_renderer_that_is_not_there_is_named_in_one_sentence() -> None:
    script = """
from rle import UsageError
from rle.tasks.ballbalance import BallBalance
try:
    BallBalance(2)
except UsageError as error:
    print(error)
"""
    result = run(script, MUJOCO_GL="crayons")
    assert "MUJOCO_GL=crayons" in result.stdout, result.stderr
    assert len(result.stdout.splitlines()) == 1
