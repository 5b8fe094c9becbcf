"""RLE around Stable-Baselines3's environments: what its agents are handed, number by number."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from stable_baselines3 import A2C, DQN, PPO, SAC
from stable_baselines3.common.callbacks import ConvertCallback, EvalCallback
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.vec_env import DummyVecEnv, VecCheckNan, VecMonitor, VecNormalize

from rle.errors import UsageError
from rle.plugins.sb3 import FollowValueFeatures, VecRandomLatentExploration, load, save
from rle.plugins.sb3.following import value_features
from tests.plugins.test_gymnasium import SAME_CHANGED, SAME_TIME, STEPS
from tests.plugins.worlds import PLAIN, Clock, Itself, Pixels, clocks

SMALL: dict[str, Any] = {"n_steps": 10, "batch_size": 15, "n_epochs": 2, "device": "cpu", "seed": 0}


def wrapped(**settings: Any) -> VecRandomLatentExploration:
    return VecRandomLatentExploration(DummyVecEnv(clocks()), features=Itself(), **PLAIN | settings)


def test_a_rollout_across_ends_limits_and_changes_of_z() -> None:
    env = VecCheckNan(wrapped(), raise_exception=True)
    env.seed(0)
    before = env.reset()
    for step in range(STEPS):
        after, reward, dones, infos = env.step(np.zeros(3, np.int64))
        for index, info in enumerate(infos):
            time, z = ord(SAME_TIME[step][index]) - ord("0"), before[index, 2:]
            reached = info["terminal_observation"] if dones[index] else after[index]
            assert reached[0] == time
            # Paid for the state that was reached, under the z that the action was taken with.
            bonus = time * z[0] + reached[1] * z[1]
            assert info["bonus"] == pytest.approx(bonus, rel=1e-5)
            assert reward[index] == pytest.approx(1 + 0.5 * bonus, rel=1e-5)
            assert info["task_reward"] == 1
            np.testing.assert_array_equal(info["latent"], z)
            changed = SAME_CHANGED[step][index] == "T"
            assert info["latent_changed"] == changed
            if dones[index]:
                # The last observation of an episode carries the z that it was reached under.
                np.testing.assert_array_equal(reached[2:], z)
            assert np.array_equal(after[index, 2:], z) != changed
            assert info["TimeLimit.truncated"] == (dones[index] and index == 1)
        before = after


def test_unmodified_ppo_learns_from_the_sum_and_goes_on_at_a_time_limit_under_the_old_z() -> None:
    env = wrapped()
    model = PPO("MlpPolicy", env, **SMALL)
    rows: list[Any] = []

    def watch(local: Any, _: Any) -> bool:
        rows.append((local["rewards"].copy(), local["infos"]))
        return True

    model._setup_learn(30, None)
    callback = ConvertCallback(watch)
    callback.init_callback(model)
    assert model.collect_rollouts(env, callback, model.rollout_buffer, 10)
    for step, (paid, infos) in enumerate(rows):
        for index, info in enumerate(infos):
            expected = 1 + 0.5 * info["bonus"]
            assert paid[index] == pytest.approx(expected, rel=1e-5)
            if info["TimeLimit.truncated"]:
                last = np.concatenate([[6, info["terminal_observation"][1]], info["latent"]])
                seen = torch.as_tensor(last, dtype=torch.float32)[None]
                expected += 0.99 * model.policy.predict_values(seen).item()
            got = model.rollout_buffer.rewards[step, index]
            assert got == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize("algorithm", [A2C, DQN])
def test_other_agents_run(algorithm: Any) -> None:
    algorithm("MlpPolicy", wrapped(), device="cpu").learn(60)


def test_monitors_inside_report_the_task_alone() -> None:
    env = VecRandomLatentExploration(VecMonitor(DummyVecEnv(clocks())), 2, standardise=False)
    model = PPO("MlpPolicy", env, **SMALL).learn(30)
    assert {episode["r"] for episode in model.ep_info_buffer} == {3, 6}


def test_a_monitor_outside_is_refused(tmp_path: Path) -> None:
    model = PPO("MlpPolicy", VecMonitor(wrapped()), **SMALL)
    for mistake in (lambda: model.learn(30, FollowValueFeatures()), lambda: save(model, tmp_path)):
        with pytest.raises(UsageError, match="the other way round"):
            mistake()


class TestEvaluation:
    def test_the_usual_callback_evaluates_with_z_and_the_tasks_reward(self, tmp_path: Path) -> None:
        env = wrapped()
        watched = env.for_evaluation(VecMonitor(DummyVecEnv([lambda: Clock(3)])), [0.6, 0.8])
        callback = EvalCallback(
            watched, eval_freq=10, n_eval_episodes=2, log_path=str(tmp_path), verbose=0
        )
        PPO("MlpPolicy", env, **SMALL).learn(30, callback)
        assert callback.last_mean_reward == 3
        np.testing.assert_allclose(watched.reset()[:, 2:], [[0.6, 0.8]])
        assert watched.step(np.zeros(1, np.int64))[1].tolist() == [1.0]

    def test_normalised_observations_are_kept_in_step(self) -> None:
        env = VecRandomLatentExploration(VecNormalize(VecMonitor(DummyVecEnv(clocks()))), 2)
        inner = VecNormalize(VecMonitor(DummyVecEnv([lambda: Clock(3)])), training=False)
        callback = EvalCallback(env.for_evaluation(inner), eval_freq=10, verbose=0)
        PPO("MlpPolicy", env, **SMALL).learn(30, callback)
        np.testing.assert_allclose(inner.obs_rms.mean, env.venv.obs_rms.mean)

    def test_z_is_drawn_without_one(self) -> None:
        watched = wrapped().for_evaluation(DummyVecEnv(clocks()))
        shown = {tuple(watched.reset()[0, 2:]) for _ in range(3)}
        assert len(shown) == 3


class TestFollowing:
    def test_phi_is_the_value_features_at_rate_one(self) -> None:
        env = VecRandomLatentExploration(make_vec_env("CartPole-v1", 3), 2)
        model = PPO("MlpPolicy", env, **SMALL).learn(60, FollowValueFeatures(1.0))
        observation = torch.randn(5, 4)
        expected = value_features(model)(torch.cat([observation, torch.zeros(5, 2)], -1))
        body = env.bonus.features.body
        torch.testing.assert_close(body(observation), expected)
        # The hook is gone: what others learn later leaves φ alone.
        model.learn(30)
        torch.testing.assert_close(body(observation), expected)

    def test_it_follows_after_every_gradient_step(self) -> None:
        env = VecRandomLatentExploration(make_vec_env("CartPole-v1", 3), 2)
        model = PPO("MlpPolicy", env, **SMALL)
        calls = []
        follow = env.follow
        env.follow = lambda leader, rate: (calls.append(rate), follow(leader, rate))
        model.learn(30, FollowValueFeatures(0.25))
        # Two epochs of two minibatches.
        assert calls == [0.0, 0.25, 0.25, 0.25, 0.25]

    @pytest.mark.parametrize("as_entry", [False, True])
    def test_on_images(self, as_entry: bool) -> None:
        env = VecRandomLatentExploration(DummyVecEnv([lambda: Pixels(as_entry=as_entry)]), 2)
        model = PPO("MultiInputPolicy", env, n_steps=4, batch_size=4, n_epochs=1, device="cpu")
        model.learn(4, FollowValueFeatures())

    def test_on_q_values(self) -> None:
        env = VecRandomLatentExploration(make_vec_env("CartPole-v1", 1), 2)
        model = DQN("MlpPolicy", env, learning_starts=10, device="cpu", seed=0)
        model.learn(20, FollowValueFeatures(1.0))
        observation = torch.randn(5, 4)
        expected = value_features(model)(torch.cat([observation, torch.zeros(5, 2)], -1))
        torch.testing.assert_close(env.bonus.features.body(observation), expected)

    def test_values_of_actions_are_not_followed(self) -> None:
        env = VecRandomLatentExploration(make_vec_env("Pendulum-v1", 1), 2)
        model = SAC("MlpPolicy", env, device="cpu")
        with pytest.raises(UsageError, match="leave φ frozen"):
            model.learn(1, FollowValueFeatures())


class TestSaving:
    @pytest.mark.parametrize("follows", [False, True])
    def test_the_same_bonus_before_and_after(self, follows: bool, tmp_path: Path) -> None:
        env = VecRandomLatentExploration(make_vec_env("CartPole-v1", 3), 2, commit_every=8)
        callback = FollowValueFeatures(0.3) if follows else None
        model = PPO("MlpPolicy", env, **SMALL).learn(60, callback)
        file = save(model, tmp_path / "agent")
        assert file == tmp_path / "agent.zip"
        fresh = VecRandomLatentExploration(make_vec_env("CartPole-v1", 3), 2, seed=9)
        loaded = load(PPO, tmp_path / "agent", fresh, device="cpu")
        observation, z = torch.randn(5, 4), torch.randn(5, 2)
        before = env.reward_of(observation, z)
        assert before.abs().min() > 0
        torch.testing.assert_close(fresh.reward_of(observation, z), before, rtol=0, atol=0)
        torch.testing.assert_close(fresh.bonus.z, env.bonus.z, rtol=0, atol=0)
        loaded.learn(30, callback, reset_num_timesteps=False)
        # Stable-Baselines3 reads the same file.
        PPO.load(file, device="cpu")

    def test_what_cannot_be_loaded(self, tmp_path: Path) -> None:
        env = wrapped()
        model = PPO("MlpPolicy", env, **SMALL)
        model.save(tmp_path / "bare")
        with pytest.raises(UsageError, match="without its wrapper"):
            load(PPO, tmp_path / "bare", env)
        with pytest.raises(UsageError, match="cannot be read"):
            load(PPO, tmp_path / "nothing", env)
        with pytest.raises(UsageError, match="does not show z"):
            save(PPO("MlpPolicy", make_vec_env("CartPole-v1", 1), device="cpu"), tmp_path / "plain")


def test_without_the_extra_the_import_says_what_installs_it() -> None:
    script = "import sys; sys.modules['stable_baselines3'] = None; import rle.plugins.sb3"
    result = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert result.stderr.strip().splitlines()[-1] == (
        "ImportError: rle.plugins.sb3 needs Stable-Baselines3: "
        "pip install 'random-latent-exploration[sb3]'"
    )
