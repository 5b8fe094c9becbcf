"""The doctor in the plug-ins: what an agent's own steps say."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import pytest
import torch
from gymnasium import spaces
from gymnasium.vector import SyncVectorEnv
from stable_baselines3 import DQN, PPO
from stable_baselines3.common.env_util import make_vec_env

from rle.errors import UsageError
from rle.findings import Finding
from rle.plugins.doctor import Recent
from rle.plugins.gymnasium import RandomLatentExploration
from rle.plugins.latent_bonus import LatentBonus
from rle.plugins.sb3 import VecRandomLatentExploration, check
from rle.plugins.settings import BonusSettings
from tests.plugins.worlds import Itself


class Walk(gymnasium.Env[Any, Any]):
    """A walk on a plane whose coordinates are shown in units of `scale`; every step pays `reward`."""

    action_space = spaces.Discrete(4)

    def __init__(self, scale: tuple[float, float] = (1.0, 1.0), reward: float = 0.0) -> None:
        self.observation_space = spaces.Box(-np.inf, np.inf, (2,), np.float32)
        self._scale, self._reward = np.array(scale, np.float32), reward

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self._at, self._left = np.zeros(2, np.float32), 50
        return self._at * self._scale, {}

    def step(self, action: Any) -> Any:
        self._at = self._at + np.array([(1, 0), (-1, 0), (0, 1), (0, -1)][action], np.float32) / 5
        self._left -= 1
        return self._at * self._scale, self._reward, False, self._left == 0, {}


def walked(steps: int = 300, coefficient: float = 0.1, **world: Any) -> RandomLatentExploration:
    vector = SyncVectorEnv([lambda: Walk(**world)] * 4)
    env = RandomLatentExploration(vector, 4, coefficient, commit_every=32)
    env.reset(seed=0)
    env.action_space.seed(0)
    for _ in range(steps):
        env.step(env.action_space.sample())
    return env


def found(findings: list[Finding], subject: str) -> Finding:
    (finding,) = (finding for finding in findings if finding.subject == subject)
    return finding


def test_a_healthy_walk_has_no_problem() -> None:
    findings = walked().check()
    assert {finding.subject for finding in findings} >= {"φ", "bonus", "z"}
    assert not [str(finding) for finding in findings if finding.level == "problem"]
    # Random actions do not know z.
    assert found(findings, "z").level == "notice"


def test_one_coordinate_that_is_large_beside_the_other() -> None:
    assert found(walked(scale=(1000.0, 1.0)).check(), "scale").level == "problem"
    assert found(walked().check(), "scale").level == "fine"


def test_a_task_that_pays_too_much_beside_the_bonus() -> None:
    # Every step pays 100, and the discounted sums since an episode's start deviate by over a thousand.
    finding = found(walked(reward=100.0).check(), "proportion")
    assert finding.level == "problem"
    assert "the bonus is not felt" in finding.sentence
    assert not [each for each in walked().check() if each.subject == "proportion"]


def test_nothing_was_seen_yet() -> None:
    env = RandomLatentExploration(SyncVectorEnv([Walk] * 2), 4)
    with pytest.raises(UsageError, match="nothing was seen yet"):
        env.check()


@pytest.mark.parametrize("follows", [True, False])
def test_following_by_hand(follows: bool) -> None:
    settings = BonusSettings(2, standardise=False, scale_bonus=False, commit_every=4)
    bonus = LatentBonus(3, settings, Itself(), seed=1)
    for _ in range(40):
        # φ is the observation itself: going where z points earns ‖z‖ = 1 always.
        noise = 0.3 * torch.randn(3, 2, generator=torch.Generator().manual_seed(_))
        bonus.step(bonus.z + noise if follows else noise, None)
    finding = found(bonus.check(sensitivity=0.5), "z")
    assert finding.level == ("fine" if follows else "notice")
    assert "0.5 nats" in finding.sentence
    assert found(bonus.check(sensitivity=0.001), "z").level == "problem"
    assert "nats" not in found(bonus.check(), "z").sentence


def test_dictionaries_are_judged_entry_by_entry() -> None:
    recent = Recent()
    rows = torch.arange(8.0)[:, None]
    seen = {"near": torch.cat([rows, rows], 1), "far": torch.cat([rows, 1000 * rows], 1)}
    recent.take({**seen, "latent": torch.zeros(8, 4)}, rows)
    subjects = {finding.subject: finding.level for finding in recent._judge_observations()}
    assert subjects["scale of near"] == "fine"
    assert subjects["scale of far"] != "fine"
    assert not [subject for subject in subjects if "latent" in subject]


def test_what_is_kept_does_not_change_with_the_environments_own_memory() -> None:
    recent, memory = Recent(), torch.arange(6.0).reshape(3, 2)
    recent.take(memory, memory)
    memory.zero_()
    assert recent._observations[0][""].tolist() == [[0, 1], [2, 3], [4, 5]]


def model(kind: Any, **settings: Any) -> Any:
    env = VecRandomLatentExploration(make_vec_env(Walk, 4), 4, commit_every=16)
    return kind("MlpPolicy", env, seed=0, device="cpu", **settings)


def test_stable_baselines_policies_are_asked_how_they_hear_z() -> None:
    heard = model(PPO, n_steps=64, batch_size=256).learn(512)
    assert "nats" in found(check(heard), "z").sentence
    # A policy whose first layer does not read z cannot hear it.
    heard.policy.mlp_extractor.policy_net[0].weight.data[:, 2:] = 0.0
    assert found(check(heard), "z").level == "problem"


def test_agents_without_a_distribution_are_judged_by_f_alone() -> None:
    agent = model(DQN, learning_starts=10_000).learn(600)
    assert "nats" not in found(check(agent), "z").sentence
