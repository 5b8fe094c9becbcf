"""Observations with parts: what networks are shown of them, and what is said of the rest."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import pytest
import torch
from gymnasium import spaces
from gymnasium.envs import registration
from gymnasium.vector import SyncVectorEnv

from rle.config import EnvironmentConfig
from rle.errors import UsageError
from rle.tasks.base import Task
from rle.tasks.gym import VectorTask, make_gym_task, task_made_by
from tests.probes.gymnasium_environments import Saying, Showing

CPU = torch.device("cpu")
BOX = spaces.Box(-9.0, 9.0, (2,), np.float32)
PLACE = np.array([0.25, -0.5], np.float32)
IMAGE = spaces.Box(0, 255, (40, 40, 3), np.uint8)
BLACK = np.zeros((40, 40, 3), np.uint8)
MISFITS: list[tuple[spaces.Space, Any]] = [
    (spaces.Text(5), "abc"),
    (spaces.Sequence(BOX), (PLACE,)),
    (spaces.Graph(BOX, None), spaces.GraphInstance(PLACE[None], None, None)),
    (spaces.OneOf([BOX, BOX]), (np.int64(0), PLACE)),
]


def single(space: spaces.Space, observation: Any, **settings: Any) -> Task:
    config = EnvironmentConfig(num_envs=2, **settings)
    return task_made_by(lambda: Showing(space, observation), "gym/<X>", config, CPU)


def vector(space: spaces.Space, observation: Any) -> Task:
    made = SyncVectorEnv([lambda: Showing(space, observation)] * 2)
    return VectorTask("gym/<X>", made, CPU, EnvironmentConfig(num_envs=2))


@pytest.mark.parametrize("make", [single, vector])
@pytest.mark.parametrize(
    ("space", "observation", "expected"),
    [
        (spaces.Box(-1.0, 1.0, ()), np.float32(0.5), [0.5]),
        (spaces.Box(-9, 9, (3,), np.int64), np.array([1, 2, 3]), [1, 2, 3]),
        (spaces.Box(0.0, 1.0, (1, 2, 1, 2)), np.ones((1, 2, 1, 2), np.float32), [1] * 4),
        (spaces.Box(0, 9, (2, 2), np.uint8), np.eye(2, dtype=np.uint8), [1, 0, 0, 1]),
        (spaces.Discrete(3, start=5), np.int64(7), [0, 0, 1]),
        (spaces.MultiDiscrete([2, 3]), np.array([1, 0]), [0, 1, 1, 0, 0]),
        (spaces.MultiDiscrete([[2], [3]]), np.array([[1], [0]]), [0, 1, 1, 0, 0]),
        (spaces.MultiBinary(3), np.array([1, 0, 1], np.int8), [1, 0, 1]),
        (spaces.MultiBinary((1, 2)), np.array([[1, 0]], np.int8), [1, 0]),
        (spaces.Tuple([BOX, spaces.Discrete(2)]), (PLACE, np.int64(1)), [0.25, -0.5, 0, 1]),
        (spaces.Dict({"only": BOX}), {"only": PLACE}, [0.25, -0.5]),
        (
            spaces.Dict({"b": spaces.Dict({"z": BOX, "a": spaces.Discrete(2)}), "a": BOX}),
            {"b": {"z": PLACE, "a": np.int64(0)}, "a": 2 * PLACE},
            [0.5, -1, 1, 0, 0.25, -0.5],
        ),
    ],
)
def test_numbers_are_one_vector(
    make: Any, space: spaces.Space, observation: Any, expected: list[float]
) -> None:
    task = make(space, observation)
    assert task.spec.observation_shape == (len(expected),)
    assert task.reset(0).tolist() == [expected] * 2
    step = task.step(torch.zeros(2, dtype=torch.int64))
    assert step.observation.dtype == torch.float32
    assert step.observation.tolist() == [expected] * 2
    assert task.as_is is not None
    assert task.as_is.shape == (len(expected),)


@pytest.mark.parametrize("make", [single, vector])
@pytest.mark.parametrize(("misfit", "value"), MISFITS)
def test_a_part_that_fits_nothing_is_left_out_with_one_notice(
    make: Any, misfit: spaces.Space, value: Any
) -> None:
    space = spaces.Dict({"a": BOX, "b": spaces.Tuple([misfit, spaces.Discrete(2)]), "c": misfit})
    observation = {"a": PLACE, "b": (value, np.int64(1)), "c": value}
    with pytest.warns(UserWarning, match="shows b.0, c, which fit neither") as caught:
        task = make(space, observation)
    assert len(caught) == 1
    assert "--wrappers module:name" in str(caught[0].message)
    assert task.reset(0).tolist() == [[0.25, -0.5, 0, 1]] * 2
    assert task.step(torch.zeros(2, dtype=torch.int64)).real is None
    assert task.as_is.tolist() == [False, False, True, True]


@pytest.mark.parametrize("make", [single, vector])
@pytest.mark.parametrize(("space", "value"), [*MISFITS, (spaces.Dict(), {})])
def test_a_whole_that_fits_nothing_is_refused(make: Any, space: spaces.Space, value: Any) -> None:
    with pytest.raises(UsageError, match=r"^gym/<X> has observations in .* are supported;") as told:
        make(space, value)
    assert "\n" not in str(told.value)
    assert "--wrappers module:name" in str(told.value)


@pytest.mark.parametrize("make", [single, vector])
@pytest.mark.parametrize("mode", ["one part", "beside text"])
def test_an_image_that_is_the_only_part_is_an_image(make: Any, mode: str) -> None:
    space, observation = {"view": IMAGE}, {"view": BLACK + 3}
    if mode == "one part":
        task = make(spaces.Dict(space), observation)
    else:
        with pytest.warns(UserWarning, match="shows text, which fit neither"):
            task = make(
                spaces.Dict({**space, "text": spaces.Text(5)}), {**observation, "text": "abc"}
            )
    assert task.spec.is_image
    assert torch.equal(task.reset(0), torch.full((2, 3, 40, 40), 3, dtype=torch.uint8))
    assert task.as_is is None


@pytest.mark.parametrize("make", [single, vector])
def test_a_large_image_beside_numbers_is_refused(make: Any) -> None:
    space = spaces.Dict({"camera": IMAGE, "place": BOX})
    observation = {"camera": BLACK, "place": PLACE}
    with pytest.raises(UsageError, match=r"an image of 40 x 40 pixels \(camera\) beside other"):
        make(space, observation)
    task = single(space, observation, wrappers=("gymnasium.wrappers:FlattenObservation",))
    assert task.spec.observation_shape == (4802,)


def test_codes_that_a_wrapper_flattens_are_still_codes() -> None:
    space = spaces.Dict({"a": BOX, "b": spaces.Discrete(2)})
    flatten = ("gymnasium.wrappers:FlattenObservation",)
    task = single(space, {"a": PLACE, "b": np.int64(1)}, wrappers=flatten)
    assert task.as_is is not None
    assert task.as_is.tolist() == [False, False, True, True]


def test_a_small_image_beside_numbers_is_flattened() -> None:
    with pytest.warns(UserWarning, match="shows mission"):
        task = task_made_by(Saying, "gym/<Saying>", EnvironmentConfig(num_envs=2), CPU)
    assert task.spec.observation_shape == (2 + 7 * 7 * 3,)
    task.reset(0)
    assert task.step(torch.zeros(2, dtype=torch.int64)).observation[0, 1:].tolist() == [1] * 148


@pytest.mark.parametrize(
    "space",
    [spaces.Box(-1.0, 1.0, (0,)), spaces.Discrete(10**8), spaces.Box(0.0, 1.0, (2000, 501))],
)
def test_sizes_that_no_network_takes_are_refused(space: spaces.Space) -> None:
    with pytest.raises(UsageError, match="numbers: give it some, and no more than 1,000,000"):
        single(space, None)


def test_minigrid(monkeypatch: pytest.MonkeyPatch) -> None:
    """Direction, then the 7 x 7 view with its three codes; the mission is words."""
    # Its many names would be suggested to other tests.
    monkeypatch.setattr(registration, "registry", dict(gymnasium.registry))
    monkeypatch.setattr(gymnasium, "registry", registration.registry)
    name = "minigrid:MiniGrid-Empty-5x5-v0"
    with pytest.warns(UserWarning, match=f"^gym/{name} shows mission, which") as caught:
        task = make_gym_task(name, EnvironmentConfig(num_envs=3), CPU)
    assert len(caught) == 1
    assert task.spec.observation_shape == (4 + 7 * 7 * 3,)
    first = task.reset(0)
    assert first[:, :4].sum(-1).tolist() == [1] * 3
    assert first[:, 4:].max() <= 10
    config = EnvironmentConfig(num_envs=3, wrappers=("minigrid.wrappers:ImgObsWrapper",))
    picture = make_gym_task(name, config, CPU)
    assert picture.spec.observation_shape == (3, 7, 7)
    assert torch.equal(picture.reset(0).permute(0, 2, 3, 1).flatten(1).float(), first[:, 4:])
