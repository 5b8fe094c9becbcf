"""Replay under any z: what DQN and SAC learn from."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sb3_contrib import QRDQN
from stable_baselines3 import DQN, SAC, TD3
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize

from rle.errors import UsageError
from rle.plugins.sb3 import (
    WHITENED,
    FollowValueFeatures,
    LatentDictReplayBuffer,
    LatentReplayBuffer,
    VecRandomLatentExploration,
    load,
    replaying,
    save,
)
from tests.plugins.test_sb3 import wrapped
from tests.plugins.worlds import Pixels, clocks


def trained(steps: int = 60, env: Any = None, **shares: float) -> tuple[Any, Any]:
    env = wrapped() if env is None else env
    model = DQN(
        "MlpPolicy",
        env,
        replay_buffer_class=LatentReplayBuffer,
        replay_buffer_kwargs=replaying(env, **shares),
        learning_starts=30,
        buffer_size=300,
        seed=0,
        device="cpu",
    )
    return model.learn(steps), env


@pytest.mark.parametrize("way", ["stored", "fresh", "hindsight"])
def test_the_reward_is_what_the_transition_earns_under_the_z_that_is_shown(way: str) -> None:
    model, _ = trained(**{way: 1.0})
    lived = {tuple(row) for row in model.replay_buffer.observations[:20].reshape(-1, 4)[:, 2:]}
    batch = model.replay_buffer.sample(200)
    seen, after = batch.observations, batch.next_observations
    # One z for both ends of a transition, where it was changed at its end too.
    torch.testing.assert_close(seen[:, 2:], after[:, 2:], rtol=0, atol=0)
    bonus = (after[:, :2] * after[:, 2:]).sum(-1)
    torch.testing.assert_close(batch.rewards[:, 0], 1 + 0.5 * bonus)
    was_lived = [tuple(z.tolist()) in lived for z in seen[:, 2:]]
    assert all(was_lived) if way == "stored" else not any(was_lived)
    torch.testing.assert_close(seen[:, 2:].norm(dim=-1), torch.ones(200))
    # Terminations end the return, time limits and changes of z do not.
    ends = (after[:, 0] == 3) & (seen[:, 1] == after[:, 1]) & batch.dones[:, 0].bool()
    assert ends.any()
    assert not batch.dones[after[:, 0] > 3].any()


@pytest.mark.parametrize("way", ["stored", "fresh", "hindsight"])
def test_whitened_rewards_are_those_of_the_state_and_the_z_that_is_shown(way: str) -> None:
    env = VecRandomLatentExploration(DummyVecEnv(clocks()), commit_every=10, **WHITENED)
    model, _ = trained(60, env, **{way: 1.0})
    batch = model.replay_buffer.sample(100)
    z = batch.observations[:, 2:]
    torch.testing.assert_close(z.norm(dim=-1), torch.ones(100))
    bonus = env.reward_of(batch.next_observations[:, :2], z)
    assert float(bonus.std()) > 0.1
    torch.testing.assert_close(batch.rewards[:, 0], 1 + 0.1 * env.bonus.scale(bonus))


def test_hindsight_by_hand() -> None:
    model, _ = trained(hindsight=1.0)
    buffer = model.replay_buffer
    rows = np.arange(20), np.zeros(20, np.int64)
    z = buffer._in_hindsight(rows, torch.ones(20)).numpy()
    for index in range(20):
        total = np.zeros(2)
        for step in range(index, 20):
            total += 0.99 ** (step - index) * buffer.next_observations[step, 0, :2]
            if buffer.dones[step, 0]:
                break
        np.testing.assert_allclose(z[index], total / np.linalg.norm(total), rtol=1e-4)


def test_hindsight_does_not_look_across_the_newest_transition() -> None:
    env = VecRandomLatentExploration(DummyVecEnv(clocks()[2:]), 2, standardise=False)
    model, _ = trained(40, env, hindsight=1.0)
    buffer = model.replay_buffer
    buffer.buffer_size, buffer.pos, buffer.full = 40, 7, True
    newest = buffer._in_hindsight((np.array([6]), np.array([0])), torch.ones(1))
    alone = env.bonus.reward(torch.from_numpy(buffer.features[6]), torch.eye(2))
    torch.testing.assert_close(newest[0], alone / alone.norm())


def test_a_mixture() -> None:
    model, _ = trained(stored=3.0, fresh=1.0)
    lived = {tuple(row) for row in model.replay_buffer.observations[:20].reshape(-1, 4)[:, 2:]}
    batch = model.replay_buffer.sample(2000).observations[:, 2:]
    share = np.mean([tuple(z.tolist()) in lived for z in batch])
    assert share == pytest.approx(0.75, abs=0.05)


def test_hindsight_in_a_mixture_is_of_the_same_rows() -> None:
    model, _ = trained(stored=1.0, hindsight=1.0)
    rows = np.arange(20), np.zeros(20, np.int64)
    lived = torch.zeros(20, 2)
    z = model.replay_buffer._latents(rows, lived)
    seen = model.replay_buffer._in_hindsight(rows, torch.ones(20))
    chosen = z.any(-1)
    assert 0 < chosen.sum() < 20
    torch.testing.assert_close(z[chosen], seen[chosen])
    assert not lived.any()


def test_a_moving_phi_is_asked_again() -> None:
    env = VecRandomLatentExploration(make_vec_env("CartPole-v1", 1), 2, commit_every=10)
    model, _ = trained(20, env)
    model.learn(40, FollowValueFeatures(0.5))
    batch = model.replay_buffer.sample(50)
    earned = env.reward_of(batch.next_observations[:, :4], batch.next_observations[:, 4:])
    expected = 1 + 0.1 * env.bonus.scale(earned)
    torch.testing.assert_close(batch.rewards[:, 0], expected)


@pytest.mark.parametrize("agent", [SAC, TD3])
def test_on_continuous_actions(agent: Any) -> None:
    env = VecRandomLatentExploration(make_vec_env("Pendulum-v1", 2), 2, commit_every=5)
    settings: Any = {"learning_starts": 10, "buffer_size": 100, "device": "cpu"}
    buffer: Any = {
        "replay_buffer_class": LatentReplayBuffer,
        "replay_buffer_kwargs": replaying(env, fresh=0.5, hindsight=0.5),
    }
    agent("MlpPolicy", env, **buffer, **settings).learn(20)


@pytest.mark.parametrize("agent", [DQN, QRDQN])
def test_on_dictionaries(agent: Any) -> None:
    pictures = VecRandomLatentExploration(DummyVecEnv([Pixels]), 2, commit_every=5)
    agent(
        "MultiInputPolicy",
        pictures,
        replay_buffer_class=LatentDictReplayBuffer,
        replay_buffer_kwargs=replaying(pictures, fresh=1.0),
        learning_starts=10,
        buffer_size=100,
        device="cpu",
    ).learn(14)


def test_quantile_regression_learns_what_a_z_earns() -> None:
    env = wrapped()
    agent = QRDQN(
        "MlpPolicy",
        env,
        replay_buffer_class=LatentReplayBuffer,
        replay_buffer_kwargs=replaying(env, fresh=1.0),
        learning_starts=30,
        buffer_size=300,
        seed=0,
        device="cpu",
    ).learn(60)
    batch = agent.replay_buffer.sample(50)
    earned = (batch.next_observations[:, :2] * batch.next_observations[:, 2:]).sum(-1)
    torch.testing.assert_close(batch.rewards[:, 0], 1 + 0.5 * earned)


def test_saved_and_loaded(tmp_path: Path) -> None:
    model, env = trained(fresh=1.0)
    save(model, tmp_path / "agent")
    model.save_replay_buffer(tmp_path / "replay")
    again = load(DQN, tmp_path / "agent", env, device="cpu")
    again.load_replay_buffer(tmp_path / "replay")
    with pytest.raises(UsageError, match="connect"):
        again.replay_buffer.sample(3)
    again.replay_buffer.connect(env)
    again.learn(30, reset_num_timesteps=False)
    np.testing.assert_array_equal(
        again.replay_buffer.features[:20], model.replay_buffer.features[:20]
    )


def test_what_it_refuses() -> None:
    with pytest.raises(UsageError, match="did you mean 'fresh'"):
        trained(frsh=1.0)
    with pytest.raises(UsageError, match="all shares are 0"):
        trained(fresh=0.0)
    with pytest.raises(UsageError, match="coefficient is 0"):
        replaying(wrapped(coefficient=0.0))
    with pytest.raises(UsageError, match="NormalizeObservation"):
        replaying(VecRandomLatentExploration(VecNormalize(DummyVecEnv(clocks())), 2))
