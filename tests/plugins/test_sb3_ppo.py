"""`RLEPPO`: two streams, two heads, cuts at a change of z."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
import torch
from gymnasium import spaces
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.policies import ActorCriticPolicy
from stable_baselines3.common.vec_env import DummyVecEnv, VecMonitor

from rle.core.scaling import RewardScaler
from rle.errors import UsageError
from rle.plugins.sb3 import (
    RLEPPO,
    WHITENED,
    FollowValueFeatures,
    VecRandomLatentExploration,
    load,
    save,
)
from tests.plugins.test_gymnasium import SAME_CHANGED, SAME_TIME, STEPS
from tests.plugins.test_sb3 import SMALL, wrapped
from tests.plugins.worlds import Pixels, clocks


class Watch(BaseCallback):
    """Keeps what a rollout's buffer holds before it is learned from, and its infos."""

    def _on_training_start(self) -> None:
        self.infos: list[Any] = []
        self.buffer: dict[str, Any] = {}

    def _on_step(self) -> bool:
        self.infos.append(self.locals["infos"])
        return True

    def _on_rollout_end(self) -> None:
        kept = self.locals["rollout_buffer"].__dict__.items()
        self.buffer = {name: part for name, part in kept if isinstance(part, np.ndarray)}
        after = torch.as_tensor(self.locals["new_obs"])
        with torch.no_grad():
            self.last = torch.cat(
                [
                    self.model.policy.predict_values(after),
                    self.model.policy.predict_bonus_values(after),
                ],
                -1,
            ).numpy()
            self.finals = {}
            for step, infos in enumerate(self.infos):
                for index, info in enumerate(infos):
                    if "terminal_observation" in info:
                        seen = torch.as_tensor(info["terminal_observation"])[None]
                        value = self.model.policy.predict_values(seen).item()
                        self.finals[step, index] = value


def rollout(**settings: Any) -> Watch:
    watch = Watch()
    RLEPPO("MlpPolicy", wrapped(**settings), gamma=0.9, gae_lambda=0.8, **SMALL).learn(30, watch)
    return watch


def test_advantages_by_hand() -> None:
    """Cut where each stream is: the task's at terminations, the bonus's where z changes."""
    watch = rollout(discount=0.7)
    kept = watch.buffer
    for index in range(3):
        task = bonus = 0.0
        for step in reversed(range(STEPS)):
            ended = (step, index) in watch.finals
            limit = watch.infos[step][index]["TimeLimit.truncated"]
            changed = SAME_CHANGED[step][index] == "T"
            last = step == STEPS - 1
            next_task = watch.last[index, 0] if last else kept["values"][step + 1, index]
            next_bonus = watch.last[index, 1] if last else kept["bonus_values"][step + 1, index]
            if ended:
                next_task = watch.finals[step, index] if limit else 0.0
            z = kept["observations"][step, index, 2:]
            time = ord(SAME_TIME[step][index]) - ord("0")
            episode = kept["observations"][step, index, 1]
            paid = time * z[0] + episode * z[1]
            assert kept["bonuses"][step, index] == pytest.approx(paid, rel=1e-5)
            task = (
                1
                + 0.9 * next_task
                - kept["values"][step, index]
                + (0.0 if ended else 0.9 * 0.8 * task)
            )
            bonus = (
                paid
                + (0.0 if changed else 0.7 * next_bonus + 0.7 * 0.8 * bonus)
                - kept["bonus_values"][step, index]
            )
            assert kept["advantages"][step, index] == pytest.approx(task + 0.5 * bonus, rel=1e-4)
            assert kept["returns"][step, index] == pytest.approx(
                task + kept["values"][step, index], rel=1e-4
            )
            assert kept["bonus_returns"][step, index] == pytest.approx(
                bonus + kept["bonus_values"][step, index], rel=1e-4, abs=1e-5
            )


def test_it_learns_from_whitened_bonuses() -> None:
    env = VecRandomLatentExploration(DummyVecEnv(clocks()), **WHITENED)
    model = RLEPPO("MlpPolicy", env, **SMALL).learn(60)
    buffer = model.rollout_buffer
    paid = env.bonus.last_features
    assert paid is not None
    assert paid.shape == (3, 128)
    # The second rollout is paid by what the first has shown.
    assert (buffer.bonuses != 0).all()
    assert float(env.bonus.random_reward.moments.count) == 60


def test_bonuses_are_scaled_as_a_rollout() -> None:
    plain, scaled = rollout(), rollout(scale_bonus=True)
    np.testing.assert_array_equal(plain.buffer["bonuses"], scaled.buffer["bonuses"])
    scaler = RewardScaler(3, torch.tensor([0.99]))
    bonus, stop = (
        torch.from_numpy(scaled.buffer[name])[..., None] for name in ("bonuses", "changed")
    )
    divisor = (bonus / scaler(bonus, stop)).flatten()[0].item()
    changed = plain.buffer["changed"]
    # Where z changes at once, the return is the reward alone.
    np.testing.assert_allclose(
        scaled.buffer["bonus_returns"][changed] * divisor,
        plain.buffer["bonus_returns"][changed],
        rtol=1e-4,
    )


def test_every_value_meets_its_own_return() -> None:
    env = wrapped()
    model = RLEPPO("MlpPolicy", env, **SMALL).learn(30)
    buffer = model.rollout_buffer
    (everything,) = list(buffer.get())
    rows = {
        tuple(seen.tolist()): pair
        for seen, pair in zip(everything.observations, everything.returns.view(-1, 2), strict=True)
    }
    assert len(rows) == 30
    for seen, task, bonus in zip(
        buffer.observations, buffer.returns, buffer.bonus_returns, strict=True
    ):
        pair = rows[tuple(seen.tolist())]
        assert pair.tolist() == [task.item(), bonus.item()]
    values, _, _ = model.policy.evaluate_actions(
        everything.observations, everything.actions.long().flatten()
    )
    assert values.flatten().shape == everything.returns.shape == everything.old_values.shape


def test_the_reward_that_is_learned_from_is_the_tasks() -> None:
    assert set(rollout().buffer["rewards"][:3].flatten()) == {1.0}


def test_another_agent_gets_the_bonus_again() -> None:
    env = wrapped(scale_bonus=True)
    RLEPPO("MlpPolicy", env, **SMALL).learn(30)
    _, reward, _, _ = env.step(np.zeros(3, np.int64))
    scaled = env.last_bonus / env.bonus._scaler.std().item()
    np.testing.assert_allclose(reward, 1 + 0.5 * scaled, rtol=1e-5)


def test_statistics_change_between_rollouts_only() -> None:
    env = wrapped(standardise=True, commit_every=1)
    watch = Watch()
    model = RLEPPO("MlpPolicy", env, **SMALL)
    model.learn(30, watch)
    assert (watch.buffer["bonuses"] == 0).all()
    assert float(env.bonus.random_reward.moments.count) == 30
    model.learn(30, watch, reset_num_timesteps=False)
    assert (watch.buffer["bonuses"] != 0).all()


@pytest.mark.parametrize(
    ("policy", "make"),
    [
        ("CnnPolicy", lambda: Pixels((40, 40, 3))),
        ("MultiInputPolicy", lambda: Pixels((40, 40, 3))),
        ("MultiInputPolicy", lambda: Pixels(as_entry=True)),
        ("MlpPolicy", lambda: gymnasium.make("Pendulum-v1")),
    ],
)
def test_policies(policy: str, make: Any, tmp_path: Path) -> None:
    env = VecRandomLatentExploration(VecMonitor(DummyVecEnv([make] * 2)), 3)
    model = RLEPPO(policy, env, n_steps=6, batch_size=6, n_epochs=1, device="cpu")
    model.learn(24, FollowValueFeatures())
    save(model, tmp_path / "agent")
    again = load(RLEPPO, tmp_path / "agent", env, device="cpu")
    observation = env.reset()
    first, second = (each.predict(observation, deterministic=True)[0] for each in (model, again))
    np.testing.assert_array_equal(first, second)
    again.learn(12)
    # Without an environment, it acts.
    RLEPPO.load(tmp_path / "agent", device="cpu").predict(observation)


def test_what_it_refuses() -> None:
    with pytest.raises(UsageError, match="does not show z"):
        RLEPPO("MlpPolicy", DummyVecEnv(clocks()))
    with pytest.raises(UsageError, match="the other way round"):
        RLEPPO("MlpPolicy", VecMonitor(wrapped()))
    with pytest.raises(UsageError, match="clip_range_vf"):
        RLEPPO("MlpPolicy", wrapped(), clip_range_vf=0.2, **SMALL)
    with pytest.raises(UsageError, match="no value head"):
        RLEPPO(ActorCriticPolicy, wrapped(), **SMALL)


class Line(gymnasium.Env[Any, Any]):
    """Ten places in a row, episodes of 16 steps that begin in the middle; no reward."""

    def __init__(self) -> None:
        self.observation_space = spaces.Box(-1, 1, (1,), np.float32)
        self.action_space = spaces.Discrete(2)

    def _observe(self) -> Any:
        return np.array([self._place / 5], np.float32)

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self._place, self._time = 0, 0
        return self._observe(), {}

    def step(self, action: Any) -> Any:
        self._place = int(np.clip(self._place + (1 if action else -1), -5, 5))
        self._time += 1
        return self._observe(), 0.0, False, self._time == 16, {}


@pytest.mark.parametrize("algorithm", [RLEPPO, PPO])
def test_it_learns_to_follow_z(algorithm: Any) -> None:
    env = VecRandomLatentExploration(DummyVecEnv([Line] * 8), 2, 1.0, commit_every=32)
    settings: Any = {"n_steps": 32, "batch_size": 128, "n_epochs": 4, "learning_rate": 1e-2}
    model = algorithm("MlpPolicy", env, seed=0, device="cpu", **settings)

    class Mean(BaseCallback):
        def _on_training_start(self) -> None:
            self.seen: list[float] = []

        def _on_step(self) -> bool:
            self.seen.append(float(env.last_bonus.mean()))
            return True

    mean = Mean()
    model.learn(8 * 32 * 14, mean)
    # Of a policy that does not look at z, it is zero on average.
    assert np.mean(mean.seen[-128:]) > 0.2


def test_the_first_values_are_near_zero() -> None:
    """A task that pays nothing has no value: what its head says at first would drown the bonus."""
    env = wrapped()
    policy = RLEPPO("MlpPolicy", env, **SMALL).policy
    seen = torch.as_tensor(env.reset())
    with torch.no_grad():
        for values in (policy.predict_values(seen), policy.predict_bonus_values(seen)):
            # The layer below has 64 outputs of at most 1 each, and each head a weight of norm 0.01.
            assert 0 < values.abs().max() <= 0.01 * 64**0.5
