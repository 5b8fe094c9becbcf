"""How new a state is to its episode, against an inverse that is kept step by step, and by hand."""

import numpy as np
import pytest
import torch
from torch import Tensor

from rle.core.novelty import RIDGE, Order, episodic_novelty


def of_rollout(episode: Tensor) -> Order:
    """Of all places of a rollout whose episodes are numbered `[T, N]`."""
    steps, envs = episode.shape
    row, env = torch.meshgrid(torch.arange(steps), torch.arange(envs), indexing="ij")
    return Order(row.flatten(), env.flatten(), episode.flatten(), (steps, envs))


def step_by_step(states: np.ndarray, episode: np.ndarray) -> np.ndarray:
    """The same of one environment, `[T, m]`, from the definition, in float64."""
    found, size = [], states.shape[1]
    for t, state in enumerate(states):
        before = states[:t][episode[:t] == episode[t]]
        q = state @ np.linalg.inv(RIDGE * np.eye(size) + before.T @ before) @ state
        found.append(np.sqrt(q / (1 + q)))
    return np.array(found)


def test_is_what_an_inverse_kept_step_by_step_says() -> None:
    source = torch.Generator().manual_seed(0)
    steps, envs, size = 12, 3, 5
    states = torch.randn(steps, envs, size, generator=source) / size**0.5
    ended = torch.rand(steps, envs, generator=source) < 0.2
    episode = ended.long().cumsum(0) - ended.long()
    found = episodic_novelty(states.flatten(0, 1), of_rollout(episode)).view(steps, envs)
    for env in range(envs):
        expected = step_by_step(states[:, env].double().numpy(), episode[:, env].numpy())
        np.testing.assert_allclose(found[:, env].numpy(), expected, rtol=1e-4)


def test_the_kth_visit_counts_one_over_root_k() -> None:
    """Of a state of length 1: q = 1 / (0.1 + k - 1), so q / (1 + q) = 1 / (k + 0.1)."""
    state = torch.tensor([[0.6, 0.8]])
    found = episodic_novelty(state.expand(6, -1), of_rollout(torch.zeros(6, 1, dtype=torch.int64)))
    assert found.tolist() == pytest.approx([(k + 0.1) ** -0.5 for k in range(1, 7)], rel=1e-5)


def test_episodes_and_environments_know_nothing_of_each_other() -> None:
    states = torch.ones(6, 1)
    # Two environments of three steps; the first ends an episode with its first step.
    episode = torch.tensor([[0, 0], [1, 0], [1, 0]])
    first, again, third = (1 / 1.1) ** 0.5, (1 / 2.1) ** 0.5, (1 / 3.1) ** 0.5
    found = episodic_novelty(states, of_rollout(episode)).tolist()
    assert found == pytest.approx([first, first, first, again, again, third], rel=1e-5)


def test_what_is_left_out_is_as_if_it_had_not_happened() -> None:
    source = torch.Generator().manual_seed(1)
    states, episode = torch.randn(8, 4, generator=source), torch.zeros(4, 2, dtype=torch.int64)
    order = of_rollout(episode)
    kept = torch.tensor([0, 1, 2, 4, 7])
    found = episodic_novelty(states[kept], order.of(kept))
    for env in range(2):
        own = order.env[kept] == env
        expected = step_by_step(states[kept][own].double().numpy(), np.zeros(int(own.sum())))
        np.testing.assert_allclose(found[own].numpy(), expected, rtol=1e-4)


def test_nothing_and_what_is_like_the_mean_are_not_new() -> None:
    order = of_rollout(torch.zeros(2, 1, dtype=torch.int64))
    assert episodic_novelty(torch.zeros(2, 3), order).tolist() == [0, 0]
    assert episodic_novelty(torch.zeros(0, 3), order.of(slice(0, 0))).shape == (0,)
