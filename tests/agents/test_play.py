"""The loop in which agents are watched."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest
import torch

import rle
from rle.agents import Agent, play
from rle.agents.spec import spec_from_dict, spec_to_dict
from rle.randomness import derive_seed, generator
from rle.runs.evaluate import evaluate, task_to_play, trajectories
from rle.runs.train import train_config
from rle.tasks.base import Continuous, Discrete, TaskSpec
from tests.builders import small_config


def agent_of(tmp_path: Path, explore: str = "rle", task: str = "fourroom", **settings) -> Agent:
    config = small_config(explore, task, total_steps=256, **settings)
    return rle.load(train_config(config, tmp_path / "run", quiet=True).path)


def first_steps(agent: Agent, count: int, num_envs: int = 3, **options):
    task = task_to_play(agent, num_envs)
    start = task.reset(derive_seed(0, "test"))
    noise = agent.noise(num_envs, generator(0, "test"))
    return list(itertools.islice(play(agent, task, start, noise, ahead=4, **options), count))


def test_each_step_follows_from_the_one_before(tmp_path: Path) -> None:
    steps = first_steps(agent_of(tmp_path, time_limit=4), 12)
    for before, after in itertools.pairwise(steps):
        assert torch.equal(after.observation, before.step.observation)
    for played in steps:
        # FourRoom's x and y go from -1 to 1 in 50 moves, one of which is made in a step.
        moved = (played.step.next_observation - played.observation).abs().sum(-1)
        assert bool((moved < 2 / 50 + 1e-5).all())
    assert [bool(played.step.truncated.all()) for played in steps] == [
        False,
        False,
        False,
        True,
    ] * 3


def test_latents_are_those_of_training_or_those_asked_for(tmp_path: Path) -> None:
    agent = agent_of(tmp_path, rle__resample_every=5)
    z = [played.latent for played in first_steps(agent, 12)]
    assert [torch.equal(a, b) for a, b in itertools.pairwise(z)] == [
        *([True] * 4 + [False]),
        *([True] * 4 + [False]),
        True,
    ]
    mine = agent.sample_latents(3)
    for played in first_steps(agent, 12, latents=mine):
        assert torch.equal(played.latent, mine)


def test_the_previous_bonus_is_seen_as_in_training(tmp_path: Path) -> None:
    agent = agent_of(tmp_path, rle__condition_on_bonus=True)
    steps = first_steps(agent, 6, latents=agent.sample_latents(3))
    for before, after in itertools.pairwise(steps[:5]):
        earned = agent.bonus(
            before.observation, before.action, before.step.next_observation, before.latent
        )
        assert torch.equal(after.latent[:, -1:], earned)
    # None on the first step under a z, which the sixth is: another z would begin there.
    assert not steps[0].latent[:, -1].any()
    assert not steps[5].latent[:, -1].any()


def test_greedy_steps_are_the_most_likely_ones(tmp_path: Path) -> None:
    agent = agent_of(tmp_path, "none", "gym/Pendulum-v1")
    assert agent.normaliser is not None
    for played in first_steps(agent, 5, greedy=True):
        with torch.no_grad():
            shown = agent.normaliser.show(played.observation)
            mean = agent.network.policy(shown, None)[:, :1]
        assert torch.equal(played.action, mean)


def test_playing_does_not_learn_how_observations_look(tmp_path: Path) -> None:
    agent = agent_of(tmp_path, "none", "gym/CartPole-v1")
    assert agent.normaliser is not None
    before = agent.normaliser.moments.count.clone()
    first_steps(agent, 9)
    assert torch.equal(agent.normaliser.moments.count, before)


def test_random_agents_play_at_random(tmp_path: Path) -> None:
    agent = agent_of(tmp_path, "random")
    actions = torch.stack([played.action for played in first_steps(agent, 400, greedy=True)])
    shares = torch.bincount(actions.flatten(), minlength=4) / actions.numel()
    assert torch.allclose(shares, torch.full((4,), 0.25), atol=0.06)


def test_trajectories_are_true_observations(tmp_path: Path) -> None:
    """Not normalised ones, even of an agent that sees those."""
    agent = agent_of(tmp_path, "none", normalise_observations=True)
    _, seen = trajectories(agent, None, 10, 4)
    assert seen.shape == (11, 4, 2)
    # From the top right corner, in units of 1 / 25.
    assert seen[0].tolist() == [[1.0, 1.0]] * 4
    cells = seen * 25
    assert torch.allclose(cells, cells.round(), atol=1e-4)


@pytest.mark.parametrize("explore", ["rle", "noisy", "rle+rnd", "random"])
def test_evaluation_builds_no_trainer(
    explore: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = small_config(explore, total_steps=512, time_limit=20)
    run = train_config(config, tmp_path / "run", quiet=True)

    def refuse(*_: object) -> None:
        raise AssertionError("a trainer was built")

    monkeypatch.setattr("rle.runs.trainer.Trainer.__init__", refuse)
    result = evaluate(run.path, 5)
    assert result.lengths == (20,) * 5
    assert result.checkpoint_step == 512


@pytest.mark.parametrize(
    ("spec", "as_is"),
    [
        (
            TaskSpec(
                7, (3,), torch.float32, Continuous((-1.0, float("-inf")), (2.0, float("inf")))
            ),
            None,
        ),
        (TaskSpec(7, (4, 84, 84), torch.uint8, Discrete(18), 4), None),
        (TaskSpec(7, (2,), torch.float32, Discrete(4)), torch.tensor([True, False])),
    ],
)
def test_a_spec_survives_json(spec: TaskSpec, as_is: torch.Tensor | None, tmp_path: Path) -> None:
    from rle.runs.directory import read_json, write_json

    write_json(tmp_path / "spec.json", spec_to_dict(spec, as_is))
    read, read_as_is = spec_from_dict(read_json(tmp_path / "spec.json"), 7)
    assert read == spec
    assert (read_as_is is None) if as_is is None else torch.equal(read_as_is, as_is)
