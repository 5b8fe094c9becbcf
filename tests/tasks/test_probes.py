"""The probes promise values to other tests; here they keep them."""

from __future__ import annotations

import pytest
import torch

from rle.tasks.base import random_actions
from tests.probes.environments import (
    PROBES,
    ActionObservationReward,
    ActionReward,
    DelayedReward,
    ObservationReward,
    Probe,
)


@pytest.mark.parametrize("probe", PROBES)
def test_observations_and_flags_follow_the_contract(probe: type[Probe]) -> None:
    task = probe(5)
    observation = task.reset(0)
    for _ in range(4):
        assert observation.shape == (5, 1)
        step = task.step(torch.ones(5, dtype=torch.int64))
        assert step.reward.dtype == torch.float32
        assert not step.truncated.any()
        ended = bool(step.terminated.any())
        assert torch.equal(step.next_observation, step.observation) == (not ended)
        observation = step.observation


@pytest.mark.parametrize("probe", PROBES)
def test_goes_on_from_a_saved_state(probe: type[Probe]) -> None:
    source = torch.Generator().manual_seed(0)
    task, restored = probe(8), probe(8)
    task.reset(3)
    task.step(torch.zeros(8, dtype=torch.int64))
    restored.load_state_dict(task.state_dict())
    for _ in range(6):
        action = random_actions(task.spec.action_space, 8, source)
        first, second = task.step(action), restored.step(action)
        assert torch.equal(first.reward, second.reward)
        assert torch.equal(first.observation, second.observation)


def test_observation_reward_pays_what_it_shows() -> None:
    task = ObservationReward(1000)
    observation = task.reset(0)
    assert set(observation[:, 0].tolist()) == {-1.0, 1.0}
    assert torch.equal(task.step(torch.zeros(1000)).reward, observation[:, 0])


def test_delayed_reward_comes_at_the_second_step() -> None:
    task = DelayedReward(2)
    task.reset(0)
    first = task.step(torch.zeros(2))
    second = task.step(torch.zeros(2))
    assert first.reward.tolist() == [0, 0]
    assert first.observation.tolist() == [[1], [1]]
    assert not first.terminated.any()
    assert second.reward.tolist() == [1, 1]
    assert second.terminated.all()
    assert second.observation.tolist() == [[0], [0]]


def test_action_reward_prefers_action_one() -> None:
    task = ActionReward(2)
    task.reset(0)
    assert task.step(torch.tensor([0, 1])).reward.tolist() == [-1, 1]


def test_action_observation_reward_wants_the_matching_action() -> None:
    task = ActionObservationReward(100)
    matching = (task.reset(0)[:, 0] > 0).long()
    step = task.step(matching)
    assert step.reward.tolist() == [1.0] * 100
    matching = (step.observation[:, 0] > 0).long()
    assert task.step(1 - matching).reward.tolist() == [-1.0] * 100
