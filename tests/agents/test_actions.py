"""Agents of the command give actions that their environments take as they are."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
import torch
from gymnasium import spaces

import rle
from rle.agents.spec import spec_from_dict, spec_to_dict
from rle.cli import main
from rle.tasks.base import Continuous, Discrete, MultiDiscrete, TaskSpec
from tests.probes.gymnasium_environments import OFFSET_TABLE, Echo, register

register()

SPACES: dict[str, spaces.Space[Any]] = {
    "discrete": spaces.Discrete(3, start=5, dtype=np.int32),
    "choices": spaces.MultiDiscrete([3, 2]),
    "table": OFFSET_TABLE,
    "switches": spaces.MultiBinary(3),
    "switch-table": spaces.MultiBinary((2, 3)),
    "square": spaces.Box(-1.0, 0.5, (2, 2), np.float64),
}


def echo(kind: str) -> gymnasium.Env[Any, Any]:
    """An environment that refuses actions of another type, shape or range than it declares."""
    return Echo(SPACES[kind])


SMALL = (
    "--total-steps 64 --checkpoint-every 64 --num-envs 4 --rollout-steps 8 --minibatches 2 "
    "--policy-hidden 4 --value-hidden 4 --time-limit 5 --compile off --threads 1"
)


def command(kind: str, explore: str, folder: Path) -> list[str]:
    options = json.dumps({"kind": kind})
    task = ["train", "gym/tests.agents.test_actions:echo", "--env-kwargs", options]
    return [*task, "--explore", explore, "--out", str(folder), *SMALL.split()]


@pytest.mark.parametrize("explore", ["rle", "random"])
@pytest.mark.parametrize("kind", SPACES)
def test_what_the_command_trains_acts_as_the_environment_says(
    kind: str, explore: str, tmp_path: Path
) -> None:
    assert main(command(kind, explore, tmp_path / "run")) == 0
    agent = rle.load(tmp_path / "run")
    space, environment = SPACES[kind], echo(kind)
    observation, _ = environment.reset(seed=0)
    for greedy in (False, True):
        action = agent.act(observation, greedy=greedy)
        assert np.shape(action) == space.shape
        assert action.dtype == space.dtype
        environment.step(action)
    many = np.zeros((200, len(observation)))
    actions = agent.act(many, generator=torch.Generator().manual_seed(0))
    assert actions.shape == (200, *space.shape)
    assert all(space.contains(action) for action in actions)
    tensors = agent.act(torch.from_numpy(many), generator=torch.Generator().manual_seed(0))
    assert isinstance(tensors, torch.Tensor)
    assert np.array_equal(tensors.numpy(), actions)
    assert tensors.numpy().dtype == actions.dtype
    one = agent.act(torch.from_numpy(many[0]))
    assert tuple(one.shape) == space.shape


def test_every_choice_is_made(tmp_path: Path) -> None:
    """An agent that has hardly learned takes each value of each choice."""
    main(command("table", "none", tmp_path / "run"))
    actions = rle.load(tmp_path / "run").act(np.zeros((500, 6)))
    found = [sorted({int(value) for value in column}) for column in actions.reshape(500, 6).T]
    assert found == [[0, 1], [-1, 0, 1], [7, 8, 9, 10], [0, 1, 2, 3, 4], [3], [0, 1]]


def test_other_commands_play_several_choices(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(command("switch-table", "rle", tmp_path / "run"))
    capsys.readouterr()
    assert main(["eval", str(tmp_path / "run"), "--episodes", "4", "--greedy"]) == 0
    assert "4 episodes" in capsys.readouterr().out


@pytest.mark.parametrize(
    "space",
    [
        Discrete(3),
        Discrete(3, 5, "int32"),
        MultiDiscrete((2, 3)),
        MultiDiscrete((2, 3, 1, 2), (0, -1, 0, 4), (2, 2), "int8"),
        Continuous((-1.0,), (2.0,)),
        Continuous((-1.0, -np.inf), (2.0, np.inf), (2, 1), "float64"),
    ],
)
def test_what_an_agent_must_know_survives_the_file(space: Any) -> None:
    spec = TaskSpec(7, (2,), torch.float32, space)
    written = json.loads(json.dumps(spec_to_dict(spec, None)))
    assert spec_from_dict(written, 7) == (spec, None)


@pytest.mark.parametrize(
    ("actions", "space"),
    [({"n": 3}, Discrete(3)), ({"low": [-1.0], "high": [2.0]}, Continuous((-1.0,), (2.0,)))],
)
def test_files_of_earlier_versions(actions: dict[str, Any], space: Any) -> None:
    written = spec_to_dict(TaskSpec(7, (2,), torch.float32, Discrete(1)), None)
    assert spec_from_dict(written | {"actions": actions}, 7)[0].action_space == space
