"""Environments of the user's: keyword arguments, functions, vectors, wrappers, objects."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any, ClassVar

import gymnasium
import numpy as np
import pytest
import torch
from gymnasium.vector import AutoresetMode, VectorEnv

import rle
from rle.cli import main
from rle.config import EnvironmentConfig
from rle.errors import UsageError
from rle.presets import preset_config
from rle.runs.directory import RunDirectory
from rle.settings import from_dict, replace, to_dict
from rle.tasks.base import Task
from rle.tasks.film import filmed
from rle.tasks.gym import GymTask, VectorTask
from rle.tasks.registry import make_task
from tests.builders import interrupt_after
from tests.outsider import makers, wrappers
from tests.probes.environments import ConstantReward
from tests.tasks.test_gym import expected_transitions, real_transitions

CPU = torch.device("cpu")
MAKERS = "gym/tests.outsider.makers"
SMALL: dict[str, Any] = {
    "num_envs": 4,
    "rollout_steps": 8,
    "total_steps": 4 * 8 * 4,
    "checkpoint_every": 4 * 8,
    "policy_hidden": (4,),
    "value_hidden": (4,),
    "compile": "off",
    "quiet": True,
}


def make(task: str, num_envs: int = 2, **settings: Any) -> Task:
    return make_task(task, EnvironmentConfig(num_envs=num_envs, **settings), CPU)


def test_keyword_arguments_reach_the_environment() -> None:
    lake = make("gym/FrozenLake-v1", env_kwargs={"map_name": "8x8"})
    assert lake.spec.observation_shape == (64,)
    task = make(f"{MAKERS}:Show", env_kwargs={"number": 2.5, "times": 3})
    assert task.reset(0).tolist() == [[2.5] * 3] * 2


def test_keyword_arguments_survive_the_configuration() -> None:
    config = preset_config("gym/FrozenLake-v1", "none")
    given = replace(config, {"env_kwargs": {"desc": ("SF", "FG"), "is_slippery": False}})
    assert given != config
    read = from_dict(json.loads(json.dumps(to_dict(given))))
    assert (read, hash(read)) == (given, hash(given))
    assert read.environment.env_kwargs == {"desc": ["SF", "FG"], "is_slippery": False}
    for wrong, reason in (
        ({"a": object()}, "is not kept in config.json"),
        ({"a": float("nan")}, "is not kept in config.json"),
        ({3: 1}, "called by texts"),
        ("8x8", "env_kwargs is '8x8': give a dictionary."),
    ):
        with pytest.raises(UsageError, match=reason):
            replace(config, {"env_kwargs": wrong})


def test_wrappers_are_applied_in_order_and_kept_by_name() -> None:
    """Half of 4 plus one is 3, and half of (4 plus one) is 2.5."""
    names = ("tests.outsider.wrappers:Halved", "tests.outsider.wrappers:Shifted")
    for order, seen in ((names, 3.0), (names[::-1], 2.5)):
        task = make(f"{MAKERS}:Show", env_kwargs={"number": 4.0}, wrappers=order)
        assert task.reset(0).tolist() == [[seen]] * 2
    given = EnvironmentConfig(wrappers=(wrappers.Halved, names[1]))  # type: ignore[arg-type]
    assert given.wrappers == names
    assert EnvironmentConfig(wrappers=wrappers.Halved).wrappers == names[:1]  # type: ignore[arg-type]
    assert make("gym/CartPole-v1", wrappers=names).reset(0).min() > 0.9


@pytest.mark.parametrize(
    ("task", "settings", "reason"),
    [
        (
            "CartPole-v1",
            {"wrappers": ("no_such:Wrapper",)},
            "wrappers names 'no_such:Wrapper', but",
        ),
        ("CartPole-v1", {"wrappers": ("tests.outsider.wrappers:Halvd",)}, "did you mean 'Halved'"),
        ("CartPole-v1", {"wrappers": ("builtins:str",)}, "returns str: return a Gymnasium env"),
        ("CartPole-v1", {"wrappers": ("gymnasium.wrappers:TimeLimit",)}, "environment alone"),
        ("CartPole-v1", {"env_kwargs": {"colour": 1}}, "cannot be made with env-kwargs"),
        ("{makers}:Show", {"env_kwargs": {"colour": 1}}, "cannot be made with env-kwargs"),
        ("{makers}:no_environment", {}, "returns str: return a Gymnasium environment"),
        ("{makers}:same_each_time", {}, "the same environment each time"),
        ("{makers}:Undecided", {}, "None for autoreset_mode: say"),
        ("{makers}:vector_of_three", {"time_limit": 5}, "time-limit is for single environments"),
        ("{makers}:vector_of_three", {"wrappers": ("a:b",)}, "wrappers is for single environments"),
        ("{makers}:vector_of_three", {"autoreset": "same-step"}, "autoreset is for single"),
        ("{makers}:nothing", {}, "registers no environment 'nothing' and has no function"),
    ],
)
def test_what_cannot_be_made_is_said_in_one_sentence(
    task: str, settings: dict[str, Any], reason: str
) -> None:
    name = f"gym/{task}".replace("gym/{makers}", MAKERS)
    with pytest.raises(UsageError, match=reason) as caught:
        make(name, **settings)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("mode", ["next-step", "same-step"])
def test_a_function_makes_the_environments_it_makes(mode: str) -> None:
    task = make(f"{MAKERS}:counting", num_envs=3, autoreset=mode, time_limit=4)
    assert isinstance(task, GymTask)
    for env, stream in enumerate(real_transitions(task, 30)):
        expected = expected_transitions(
            "probe/Terminating-v0", 5 + env, len(stream), max_episode_steps=4
        )
        assert stream == expected


@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
def test_a_vector_of_the_users_is_stepped_as_it_is(mode: str) -> None:
    """Both modes are told from its metadata, and give the transitions of a plain loop."""
    task = make(f"{MAKERS}:vector_of_any_size", num_envs=3, env_kwargs={"mode": mode})
    assert type(task) is VectorTask
    for env, stream in enumerate(real_transitions(task, 30)):
        assert stream == expected_transitions("probe/Terminating-v0", 5 + env, len(stream))


@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
def test_a_vector_of_dictionaries_is_flattened(mode: str) -> None:
    """Where it is, episode and step, then what it is, 1 of 2."""
    task = make(f"{MAKERS}:dictionaries", num_envs=2, env_kwargs={"mode": mode})
    task.reset(3)
    for _ in range(12):
        step = task.step(torch.zeros(2, dtype=torch.int64))
        assert step.next_observation[:, 2:].tolist() == [[0, 1]] * 2
        ended = step.terminated
        # An episode's last observation is its own: at least two steps from its beginning.
        assert bool((step.next_observation[ended, 1] >= 2).all())
        if mode == "SameStep":
            assert bool((step.observation[ended, 1] == 0).all())


def test_a_vector_goes_on_with_new_episodes() -> None:
    name = f"{MAKERS}:vector_of_any_size"
    task, restored = make(name), make(name)
    first = task.reset(3)
    action = torch.zeros(2, dtype=torch.int64)
    task.step(action)
    with pytest.warns(UserWarning, match="goes on with new episodes"):
        restored.load_state_dict(task.state_dict())
    assert restored.restarted
    step = restored.step(action)
    assert step.real is not None
    assert not step.real.any()
    assert not step.reward.any()
    assert not torch.equal(step.observation[:, 0], first[:, 0])
    assert restored.step(action).real is None


def test_a_vector_of_another_size_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="has 3 environments and the configuration 4"):
        rle.train(f"{MAKERS}:vector_of_three", out=tmp_path / "run", **SMALL)


def test_a_vector_of_one_size_is_evaluated_with_that_size(tmp_path: Path) -> None:
    small = SMALL | {"num_envs": 3, "minibatches": 2}
    run = rle.train(f"{MAKERS}:vector_of_three", out=tmp_path / "run", **small)
    assert len(rle.eval(run.path, episodes=2).scores) == 2


def test_a_function_of_a_module_is_found_again_by_its_name(tmp_path: Path) -> None:
    run = rle.train(
        makers.counting, out=tmp_path / "run", env_kwargs={"ending": [False, True]}, **SMALL
    )
    config = run.config()
    assert config.task == f"{MAKERS}:counting"
    assert config.environment.env_kwargs == {"ending": [False, True]}
    assert len(rle.eval(run.path, episodes=5).scores) == 5


@pytest.mark.parametrize(
    ("hand_over", "name"),
    [
        (lambda: lambda: makers.Show(number=1.0), "gym/<lambda>"),
        (makers.vector_of_three, "gym/<SyncVectorEnv>"),
        (lambda: ConstantReward(3), "task/<ConstantReward>"),
    ],
)
def test_an_object_is_handed_over_and_asked_for_again(
    hand_over: Any, name: str, tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    path = tmp_path / "run"
    small = SMALL | {"minibatches": 2, "normalise_observations": False}
    if "lambda" in name:
        small |= {"time_limit": 5}
    else:
        del small["num_envs"]  # as many as there are
    whole = rle.train(hand_over(), "rle", out=tmp_path / "whole", **small)
    assert whole.config().task == name
    assert whole.config().environment.num_envs == (4 if "lambda" in name else 3)
    _interrupted(whole, path)
    assert main(["resume", str(path)]) == 2
    assert "rle.resume(path, env=...)" in capsys.readouterr().err
    if "Sync" in name:
        with pytest.warns(UserWarning, match="new episodes"):
            resumed = rle.resume(path, quiet=True, env=hand_over())
    else:
        resumed = rle.resume(path, quiet=True, env=hand_over())
        assert _measured(resumed) == _measured(whole)
    assert resumed.finished() is not None
    assert len(rle.eval(path, episodes=2, env=hand_over()).scores) == 2
    with pytest.raises(UsageError, match=f"the run is on {name}, and what is handed over is gym/"):
        rle.eval(path, env=makers.counting)


def _interrupted(run: RunDirectory, path: Path) -> None:
    """A copy of the run as it stood at its first checkpoint."""
    shutil.copytree(run.path, path)
    interrupt_after(path, 1)


def _measured(run: RunDirectory) -> list[dict[str, Any]]:
    return [{k: v for k, v in line.items() if k != "seconds"} for line in run.metrics()]


def test_a_named_run_refuses_another_environment(tmp_path: Path) -> None:
    small = SMALL | {"time_limit": 5}
    run = rle.train("gym/CartPole-v1", "none", out=tmp_path / "run", **small)
    with pytest.raises(UsageError, match="the run is on gym/CartPole-v1, and what is handed over"):
        rle.eval(run.path, env=makers.counting)


def test_a_film_shows_one_environment() -> None:
    with pytest.raises(UsageError, match="has 3 environments whatever is asked for"):
        filmed(f"{MAKERS}:vector_of_three", EnvironmentConfig(num_envs=1))


class Forgetful(VectorEnv):
    """Ends every episode at once, and does not say how it looked at its end."""

    num_envs = 2
    metadata: ClassVar = {"autoreset_mode": AutoresetMode.SAME_STEP}
    single_observation_space = gymnasium.spaces.Box(-1.0, 1.0, (1,))
    single_action_space = gymnasium.spaces.Discrete(2)

    def reset(self, *, seed: Any = None, options: Any = None) -> Any:
        return np.zeros((2, 1)), {}

    def step(self, actions: Any) -> Any:
        return np.zeros((2, 1)), [1.0, 1.0], [True, True], [False, False], {}


def test_a_vector_must_give_the_last_observation() -> None:
    task = VectorTask("gym/<Forgetful>", Forgetful(), CPU, EnvironmentConfig(num_envs=2))
    task.reset(0)
    with pytest.raises(UsageError, match="put it into info under final_obs"):
        task.step(torch.zeros(2, dtype=torch.int64))


def test_what_is_no_task_is_refused() -> None:
    for thing in (3, makers.Show(), np.zeros(2)):
        with pytest.raises(UsageError, match="is no task: give"):
            rle.train(thing)


def test_a_task_that_keeps_its_own_time(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="keeps its own time"):
        rle.train(ConstantReward(4), out=tmp_path / "run", time_limit=3, **SMALL)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["gym/FrozenLake-v1", "--env-kwargs", "8x8"], 'such as {"map_name": "8x8"}.'),
        (["gym/FrozenLake-v1", "--env-kwargs", "{'map_name': '8x8'}"], 'such as {"map_name"'),
        (["gym/FrozenLake-v1", "--env-kwargs", '{"map_name": "9x9"}'], "KeyError: '9x9'"),
        (["fourroom", "--env-kwargs", "{}"], "env-kwargs would do nothing"),
        (["fourroom", "--wrappers", "a:b"], "wrappers would do nothing"),
        (["gym/CartPole-v1", "--wrappers", "ab"], "wrappers has 'ab': give module:name"),
        (["mymaze:make"], "a Gymnasium environment is gym/mymaze:make"),
        (["gym/<lambda>"], "rle.resume(path, env=...)"),
    ],
)
def test_the_command_explains(
    arguments: list[str], sentence: str, capsys: pytest.CaptureFixture
) -> None:
    assert main(["train", *arguments, "--compile", "off"]) == 2
    error = capsys.readouterr().err
    assert sentence in error
    assert error.count("\n") == 1
