from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
import torch
from gymnasium import spaces

from rle.config import EnvironmentConfig
from rle.errors import UsageError
from rle.tasks.base import Continuous, Discrete, MultiDiscrete, random_actions
from rle.tasks.gym import GymTask, check_gym_id
from rle.tasks.registry import make_task
from rle.tasks.spaces import fit_as_it_is
from tests.probes import gymnasium_environments

gymnasium_environments.register()

MODES = ("next-step", "same-step")
SEED = 5

Transition = tuple[list[float], float, float, bool, bool, list[float]]
"""Observation, action, reward, terminated, truncated, true next observation."""


def make(env_id: str, num_envs: int = 1, **settings: Any) -> GymTask:
    return GymTask(env_id, EnvironmentConfig(num_envs=num_envs, **settings), "cpu")


def choose(observation: np.ndarray) -> int:
    """An action that any sum of an observation's numbers decides."""
    return int(observation.sum()) % 3


def real_transitions(task: GymTask, steps: int) -> list[list[Transition]]:
    """What each environment went through, calls that only reset left out."""
    streams: list[list[Transition]] = [[] for _ in range(task.spec.num_envs)]
    observation = task.reset(SEED)
    for _ in range(steps):
        action = torch.tensor([choose(row) for row in observation.numpy()])
        step = task.step(action)
        if not bool((step.terminated | step.truncated).any()):
            assert step.observation is step.next_observation
        for env, stream in enumerate(streams):
            if step.real is None or step.real[env]:
                stream.append(
                    (
                        observation[env].tolist(),
                        float(action[env]),
                        float(step.reward[env]),
                        bool(step.terminated[env]),
                        bool(step.truncated[env]),
                        step.next_observation[env].tolist(),
                    )
                )
            else:
                assert not step.reward[env]
                assert not step.terminated[env]
                assert not step.truncated[env]
        observation = step.observation
    return streams


def expected_transitions(env_id: str, seed: int, steps: int, **settings: Any) -> list[Transition]:
    """The same from a plain loop over one environment, without any auto-reset."""
    environment = gymnasium.make(env_id, **settings)
    observation, _ = environment.reset(seed=seed)
    stream: list[Transition] = []
    while len(stream) < steps:
        action = choose(observation)
        after, reward, terminated, truncated, _ = environment.step(action)
        cut = truncated and not terminated
        stream.append(
            (observation.tolist(), action, float(reward), terminated, cut, after.tolist())
        )
        observation = environment.reset()[0] if terminated or truncated else after
    return stream


@pytest.mark.parametrize("time_limit", [None, 4])
@pytest.mark.parametrize("ending", ["Terminating", "Truncating", "EndingBothWays"])
@pytest.mark.parametrize("mode", MODES)
def test_both_modes_yield_the_transitions_of_a_plain_loop(
    mode: str, ending: str, time_limit: int | None
) -> None:
    env_id = f"probe/{ending}-v0"
    task = make(env_id, num_envs=3, autoreset=mode, time_limit=time_limit)
    streams = real_transitions(task, 60)
    for env, stream in enumerate(streams):
        expected = expected_transitions(
            env_id, SEED + env, len(stream), max_episode_steps=time_limit
        )
        assert stream == expected
        ends = [transition[3:5] for transition in stream]
        # At most every third call only resets.
        assert len(stream) == 60 if mode == "same-step" else 40 <= len(stream) < 60
        assert ((True, False) in ends) == (ending != "Truncating")
        assert ((False, True) in ends) == (ending == "Truncating" or time_limit is not None)
        assert (True, True) not in ends


def test_same_step_mode_gives_both_observations_at_an_end() -> None:
    task = make("probe/Truncating-v0", autoreset="same-step")
    first = task.reset(SEED)
    for _ in range(10):
        step = task.step(torch.zeros(1, dtype=torch.int64))
        if step.truncated.any():
            break
    assert step.real is None
    assert step.next_observation[0, 0] == first[0, 0]
    assert step.next_observation[0, 1] >= 2
    assert step.observation[0, 0] != first[0, 0]
    assert step.observation[0, 1] == 0


def test_next_step_mode_marks_the_reset_as_no_transition() -> None:
    task = make("probe/Truncating-v0")
    task.reset(SEED)
    step = task.step(torch.zeros(1, dtype=torch.int64))
    while not step.truncated.any():
        assert step.real is None
        step = task.step(torch.zeros(1, dtype=torch.int64))
    assert step.next_observation[0, 1] >= 2
    reset = task.step(torch.zeros(1, dtype=torch.int64))
    assert reset.real is not None
    assert reset.real.tolist() == [False]
    assert reset.observation[0, 1] == 0
    assert task.step(torch.zeros(1, dtype=torch.int64)).real is None


def test_observations_handed_out_are_not_written_over() -> None:
    task = make("probe/Terminating-v0", num_envs=2)
    observations = [task.reset(SEED)]
    copies = [observations[0].clone()]
    for _ in range(5):
        observations.append(task.step(torch.zeros(2, dtype=torch.int64)).observation)
        copies.append(observations[-1].clone())
    assert all(torch.equal(a, b) for a, b in zip(observations, copies, strict=True))


def test_environments_differ_and_follow_the_seed() -> None:
    task = make("CartPole-v1", num_envs=2)
    first = task.reset(2**62)
    assert not torch.equal(first[0], first[1])
    assert torch.equal(task.reset(2**62), first)
    assert not torch.equal(task.reset(3), first)


@pytest.mark.parametrize(
    ("env_id", "expected"),
    [
        # Keys in alphabetical order: kind 2 of 3, then place.
        ("probe/ShowDict-v0", [0, 0, 1, 0.25, -0.5]),
        ("probe/ShowTuple-v0", [0.25, -0.5, -0.25, 0.5]),
        ("probe/ShowDiscrete-v0", [0, 1, 0, 0]),
    ],
)
def test_observations_become_float_vectors(env_id: str, expected: list[float]) -> None:
    task = make(env_id, num_envs=2)
    assert task.spec.observation_shape == (len(expected),)
    observation = task.reset(0)
    assert observation.dtype == torch.float32
    assert observation.tolist() == [expected] * 2
    assert task.step(torch.zeros(2, dtype=torch.int64)).observation.tolist() == [expected] * 2


def test_box_actions_are_clipped_to_the_bounds_by_the_task() -> None:
    task = make("probe/EchoBox-v0", num_envs=3)
    assert task.spec.action_space == Continuous((-1.0, -2.0), (1.0, 0.1), dtype="float64")
    task.reset(0)
    action = torch.tensor([[3.0, 0.05], [-5.0, -5.0], [0.5, 9.0]])
    original = action.clone()
    arrived = task.step(action).observation
    assert torch.equal(arrived, torch.tensor([[1.0, 0.05], [-1.0, -2.0], [0.5, 0.1]]))
    assert torch.equal(action, original)


def test_box_actions_of_several_dimensions_are_vectors_to_the_learner() -> None:
    task = make("probe/EchoSquare-v0", num_envs=2)
    assert isinstance(task.spec.action_space, Continuous)
    assert task.spec.action_space.size == 4
    task.reset(0)
    action = torch.linspace(-1, 1, 8).reshape(2, 4)
    assert torch.equal(task.step(action).observation, action)


def test_discrete_actions_start_where_the_environment_counts_from() -> None:
    task = make("probe/EchoDiscrete-v0", num_envs=3)
    assert task.spec.action_space == Discrete(3, start=5)
    task.reset(0)
    assert task.step(torch.tensor([0, 1, 2])).observation.flatten().tolist() == [5, 6, 7]


def test_several_choices_at_once() -> None:
    task = make("probe/EchoMultiDiscrete-v0", num_envs=2)
    assert task.spec.action_space == MultiDiscrete((3, 2))
    task.reset(0)
    action = torch.tensor([[2, 0], [0, 1]])
    assert task.step(action).observation.tolist() == [[2, 0], [0, 1]]
    assert action.tolist() == [[2, 0], [0, 1]]


def test_several_choices_have_the_shape_and_the_counting_of_the_environment() -> None:
    task = make("probe/EchoMultiDiscreteTable-v0", num_envs=2)
    start = (0, -1, 7, 0, 3, 0)
    expected = MultiDiscrete((2, 3, 4, 5, 1, 2), start, (2, 3), "int32")
    assert task.spec.action_space == expected
    task.reset(0)
    highest = torch.tensor([1, 2, 3, 4, 0, 1])
    arrived = task.step(torch.stack([torch.zeros(6, dtype=torch.int64), highest])).observation
    assert arrived.tolist() == [[0, -1, 7, 0, 3, 0], [1, 1, 10, 4, 3, 1]]


@pytest.mark.parametrize(
    ("env_id", "expected"),
    [
        ("probe/EchoMultiBinary-v0", MultiDiscrete((2,) * 3, dtype="int8")),
        ("probe/EchoMultiBinaryTable-v0", MultiDiscrete((2,) * 6, None, (2, 3), "int8")),
    ],
)
def test_switches_are_choices_of_two(env_id: str, expected: MultiDiscrete) -> None:
    task = make(env_id, num_envs=4)
    assert task.spec.action_space == expected
    task.reset(0)
    action = random_actions(expected, 4, torch.Generator().manual_seed(0))
    assert task.step(action).observation.tolist() == action.tolist()


@pytest.mark.parametrize(
    ("env_id", "named"),
    [
        (
            "probe/EchoIntegerBox-v0",
            "actions in Box.* whole numbers:.*declare them as MultiDiscrete",
        ),
        ("probe/EchoDict-v0", "actions in Dict.* several parts:.*flatten them .*ActionWrapper"),
        ("probe/EchoTuple-v0", "actions in Tuple.* several parts:.*flatten them .*ActionWrapper"),
        ("probe/EchoText-v0", "actions in Text"),
    ],
)
def test_unsupported_spaces_are_named(env_id: str, named: str) -> None:
    with pytest.raises(UsageError, match=f"^gym/{env_id} has {named}") as caught:
        make(env_id)
    assert " are supported" in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("env_id", "package"),
    [
        ("probe/NeedsModule-v0", "pip install a_package_nobody_has"),
        ("probe/NeedsPackage-v0", 'pip install "gymnasium[box2d]"'),
    ],
)
def test_a_missing_package_is_named(env_id: str, package: str) -> None:
    with pytest.raises(UsageError, match="needs a package that is not installed") as caught:
        make(env_id)
    assert package in str(caught.value)


def test_unknown_ids_suggest_the_nearest() -> None:
    with pytest.raises(UsageError, match="'CartPolle-v1': did you mean 'gym/CartPole-v1'"):
        check_gym_id("CartPolle-v1")
    with pytest.raises(UsageError, match="as in gym/my_module:Labyrinth-v0"):
        check_gym_id("Labyrinth-v0")
    check_gym_id("CartPole-v1")
    check_gym_id("tests.probes.gymnasium_environments:probe/Terminating-v0")


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        (None, "no module 'my_own' in .* and none is installed"),
        ("", "registers no environment 'Maze-v0'"),
        (
            "import gymnasium\ngymnasium.register('Mazes-v0', 'my_own:Maze')",
            "'gym/my_own:Mazes-v0'",
        ),
        ("import not_there.at_all", "the module 'my_own' needs 'not_there'.*pip install not_there"),
        ("x = 1\nx = y", "fails with NameError: name 'y' is not defined .*my_own.py, line 2"),
        ("x = 1\nx = = 2", "fails with SyntaxError: invalid syntax .*my_own.py, line 2"),
    ],
)
def test_a_module_that_does_not_give_the_environment(
    code: str | None, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "my_own", raising=False)
    monkeypatch.setattr(gymnasium.envs.registration, "registry", dict(gymnasium.registry))
    monkeypatch.setattr(gymnasium, "registry", gymnasium.envs.registration.registry)
    if code is not None:
        (tmp_path / "my_own.py").write_text(code)
    with pytest.raises(UsageError, match=reason) as caught:
        check_gym_id("my_own:Maze-v0")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("space", "expected"),
    [
        (spaces.Box(-1.0, 1.0, (2,)), [True, True]),
        (gymnasium.make("MountainCar-v0").observation_space, [False, False]),
        # A cosine, a sine and a speed.
        (gymnasium.make("Pendulum-v1").observation_space, [True, True, False]),
        (spaces.Box(0, 9, (1, 2, 1), np.uint8), [False, False]),
        (spaces.Box(0.0, 1.0, (1,)), [False]),
        (spaces.Discrete(3), [True] * 3),
        (spaces.MultiBinary(2), [True] * 2),
        (spaces.MultiDiscrete([2, 3]), [True] * 5),
        # Keys in alphabetical order.
        (
            spaces.Dict({"b": spaces.Box(-9, 9, (2,)), "a": spaces.Discrete(2)}),
            [True, True, False, False],
        ),
        (spaces.Tuple([spaces.Box(-9, 9, (1,)), spaces.Discrete(2)]), [False, True, True]),
    ],
)
def test_what_needs_no_normalisation(space: spaces.Space, expected: list[bool]) -> None:
    assert fit_as_it_is(space).tolist() == expected


def test_only_measurements_are_normalised() -> None:
    """One and the same observation, kind 2 of 3 and a place, has no deviation: its place is 0."""
    config = EnvironmentConfig(num_envs=2, normalise_observations=True)
    task = make_task("gym/probe/ShowMeasured-v0", config, torch.device("cpu"))
    task.reset(0)
    shown = task.step(torch.zeros(2, dtype=torch.int64)).observation
    assert shown.tolist() == [[0, 0, 1, 0, 0]] * 2


@pytest.mark.parametrize("env_id", ["rle/FourRoom-v0", "FrozenLake-v1"])
def test_what_is_fit_already_is_shown_unchanged(env_id: str) -> None:
    plain, shown = (
        make_task(f"gym/{env_id}", EnvironmentConfig(3, 20, normalise_observations=on), "cpu")
        for on in (False, True)
    )
    assert torch.equal(plain.reset(0), shown.reset(0))
    source = torch.Generator().manual_seed(0)
    for _ in range(50):
        action = torch.randint(0, 4, (3,), generator=source)
        one, other = plain.step(action), shown.step(action)
        assert torch.equal(one.observation, other.observation)
        assert torch.equal(one.next_observation, other.next_observation)


def test_time_limit_overrides_the_environments_own() -> None:
    task = make("Pendulum-v1", time_limit=3)
    task.reset(0)
    steps = [task.step(torch.zeros(1, 1)) for _ in range(3)]
    assert [bool(step.truncated) for step in steps] == [False, False, True]
