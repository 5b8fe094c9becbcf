"""Images of Gymnasium environments: which observations are, and what a stack of frames holds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from torch import Tensor

from rle.config import EnvironmentConfig
from rle.errors import UsageError
from rle.tasks.base import Task
from rle.tasks.gym import GymTask, VectorTask, task_made_by
from rle.tasks.gym.parts import is_image, view_of
from tests.probes import gymnasium_environments
from tests.probes.gymnasium_environments import Filming, Showing

gymnasium_environments.register()

CPU = torch.device("cpu")
MODES = ("next-step", "same-step")


def filming(num_envs: int = 3, mode: str = "next-step", **settings: Any) -> Task:
    config = EnvironmentConfig(num_envs=num_envs, autoreset=mode, **settings)
    return task_made_by(Filming, "gym/<Filming>", config, CPU)


def vector_filming(mode: str, **settings: Any) -> Task:
    kind = AutoresetMode.NEXT_STEP if mode == "next-step" else AutoresetMode.SAME_STEP
    vector = SyncVectorEnv([Filming] * 3, autoreset_mode=kind)
    return VectorTask("gym/<Vector>", vector, CPU, EnvironmentConfig(num_envs=3, **settings))


def counts(seen: Tensor) -> list[tuple[int, int]]:
    """(episode, step) of each frame of one observation `[frames * 3, H, W]`."""
    corner = seen[:, 0, 0].tolist()
    return list(zip(corner[0::3], corner[1::3], strict=True))


def assert_of_one_episode(frames: list[tuple[int, int]]) -> None:
    """The last frames up to the newest; the first frame stands for those before it."""
    episode, newest = frames[-1]
    size = len(frames)
    assert frames == [(episode, max(0, newest - size + 1 + age)) for age in range(size)]


@pytest.mark.parametrize("make", [filming, vector_filming])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("frame_stack", [1, 2, 4])
def test_a_stack_holds_frames_of_its_own_episode(make: Any, mode: str, frame_stack: int) -> None:
    task = make(mode=mode, frame_stack=frame_stack)
    assert task.spec.observation_shape == (3 * frame_stack, 5, 6)
    assert task.spec.observation_dtype == torch.uint8
    assert task.spec.stacked_frames == frame_stack
    observation = task.reset(5)
    ends = 0
    for _ in range(40):
        step = task.step(torch.zeros(3, dtype=torch.int64))
        for env in range(3):
            before, after, acted_on = (
                counts(seen[env]) for seen in (observation, step.next_observation, step.observation)
            )
            for frames in (before, after, acted_on):
                assert_of_one_episode(frames)
            if step.real is not None and not step.real[env]:
                assert acted_on[-1][1] == 0
                continue
            # The true next frame: one step further in the same episode, at its end too.
            assert after[-1] == (before[-1][0], before[-1][1] + 1)
            ended = bool(step.terminated[env])
            ends += ended
            assert (acted_on == after) == (not ended or mode == "next-step")
        observation = step.observation
    assert ends > 10
    task.close()


def test_frames_are_made_grey_and_small_before_they_are_stacked() -> None:
    task = filming(1, grayscale=True, resize=(2, 3), frame_stack=2)
    assert task.spec.observation_shape == (2, 2, 3)
    first = task.reset(0)
    episode = task._environments[0].unwrapped.episode % 256  # type: ignore[attr-defined]
    # Blue goes 0, 1, 2, 3, 4, 5, of which means are taken in pairs.
    row = [round(0.2125 * episode + 0.0721 * blue) for blue in (0.5, 2.5, 4.5)]
    assert first.tolist() == [[[row, row], [row, row]]]


@pytest.mark.parametrize(
    ("shape", "channels_last"),
    [
        ((7, 7, 3), True),
        ((96, 96, 3), True),
        ((96, 80, 1), True),
        ((64, 64, 4), True),
        ((3, 64, 64), False),
        ((1, 84, 84), False),
        ((4, 84, 84), False),
        ((12, 84, 84), False),
        ((25, 25, 20), True),
        ((84, 84), True),
    ],
)
def test_where_the_channels_are(shape: tuple[int, ...], channels_last: bool) -> None:
    space = spaces.Box(0, 255, shape, np.uint8)
    assert is_image(space)
    assert view_of("gym/X", space, EnvironmentConfig()).channels_last is channels_last


def test_channels_at_both_ends_are_taken_from_the_last_and_told_of() -> None:
    space = spaces.Box(0, 255, (4, 5, 3), np.uint8)
    with pytest.warns(UserWarning, match=r"\(4, 5, 3\), whose channels may come first or last"):
        assert view_of("gym/X", space, EnvironmentConfig()).frame_shape == (3, 4, 5)


@pytest.mark.parametrize(
    "space",
    [
        spaces.Box(0, 10, (7, 7, 3), np.uint8),
        spaces.Box(0.0, 1.0, (64, 64, 3), np.float32),
        spaces.Box(0, 255, (8,), np.uint8),
        spaces.Box(0, 255, (2, 64, 64, 3), np.uint8),
        spaces.Box(0, 255, (9, 9, 9), np.uint8),
        spaces.MultiBinary((64, 64, 3)),
    ],
)
def test_other_arrays_are_no_images(space: spaces.Space) -> None:
    assert not is_image(space)


def test_real_numbers_are_flattened_and_told_of() -> None:
    space = spaces.Box(0.0, 1.0, (4, 5, 3), np.float32)

    def make() -> Showing:
        return Showing(space, np.full((4, 5, 3), 0.5, np.float32))

    with pytest.warns(UserWarning, match=r"float32 arrays of the shape \(4, 5, 3\)") as caught:
        task = task_made_by(make, "gym/<make>", EnvironmentConfig(num_envs=3), CPU)
    assert len(caught) == 1
    assert task.reset(0).tolist() == [[0.5] * 60] * 3


def test_only_colours_are_made_grey() -> None:
    with pytest.raises(UsageError, match=r"for images of three channels, and gym/probe/.* shows 1"):
        GymTask(
            "probe/Filming-v0",
            EnvironmentConfig(2, grayscale=True, env_kwargs={"layout": "HW"}),
            CPU,
        )
