"""Whitened features in the plug-ins: F by numpy, replay, states, and what is refused."""

from typing import Any

import numpy as np
import pytest
import torch
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from torch import nn

from rle.core.whitening import RIDGE, RIDGE_OF_DIRECTIONS
from rle.errors import UsageError
from rle.plugins.gymnasium import RandomLatentExploration
from rle.plugins.settings import WHITENED, BonusSettings
from rle.presets.whitened import WHITENED_RLE
from rle.randomness import generator
from tests.plugins.test_gymnasium import played
from tests.plugins.worlds import Clock, Pixels, clock_vector

SAME = AutoresetMode.SAME_STEP
SEGMENT = 4


class Powers(nn.Module):
    """φ of a clock's observation, [N, 3]: two numbers and their product."""

    def forward(self, observation: torch.Tensor) -> torch.Tensor:
        return torch.cat([observation, observation.prod(-1, keepdim=True)], -1)


def whitened(seed: int = 3, **settings: Any) -> RandomLatentExploration:
    chosen = WHITENED | {"whitened_features": 3, "dimension": 2, "rarity": 0.5}
    chosen |= {"coefficient": 0.5, "commit_every": SEGMENT, "scale_bonus": False, "seed": seed}
    chosen |= {"features": Powers()}
    return RandomLatentExploration(clock_vector(SAME), **chosen | settings)


def inverse_root(states: np.ndarray, ridge: float) -> np.ndarray:
    """W `[m, m]` with W Wᵀ = (Σ + ridge)⁻¹ / m."""
    covariance = np.cov(states.T, bias=True)
    ridged = covariance + ridge * np.diag(covariance).mean() * np.eye(len(covariance))
    return np.linalg.inv(np.linalg.cholesky(ridged)).T / np.sqrt(len(covariance))


def test_f_is_what_numpy_says() -> None:
    mixture = torch.randn(3, 2, generator=generator(3, "mixture")).numpy()
    seen = np.zeros((0, 3))
    usual, rarities = 1.0, []
    for step, (before, after, reward, terminated, truncated, info) in enumerate(played(whitened())):
        ended, reached = terminated | truncated, after[:, :2].copy()
        for env in np.flatnonzero(ended):
            reached[env] = info["final_obs"][env][:2]
        states = np.concatenate([reached, reached.prod(-1, keepdims=True)], -1).astype(np.float64)
        if step < SEGMENT:
            assert (info["bonus"] == 0).all()
        else:
            known = seen[: 3 * SEGMENT * (step // SEGMENT)]
            centred = states - known.mean(0)
            directed = centred @ inverse_root(known, RIDGE_OF_DIRECTIONS) @ mixture
            rarity = np.linalg.norm(centred @ inverse_root(known, RIDGE), axis=-1)
            bonus = (directed * before[:, 2:]).sum(-1) + 0.5 * (rarity - usual)
            np.testing.assert_allclose(info["bonus"], bonus, rtol=1e-3, atol=1e-4)
            np.testing.assert_allclose(reward, 1 + 0.5 * info["bonus"], rtol=1e-5)
            rarities.append(rarity)
        seen = np.concatenate([seen, states])
        if (step + 1) % SEGMENT == 0 and rarities:
            # Rare beside what was usual between the last two commits.
            usual, rarities = float(np.mean(rarities)), []
    assert usual != 1.0


def test_saved_and_loaded_it_goes_on_exactly(tmp_path: Any) -> None:
    env, other = whitened(), whitened(seed=5)
    played(env, 10)
    env.save(tmp_path / "state")
    other.load(tmp_path / "state")
    for _ in range(8):
        steps = [each.bonus.step(torch.ones(3, 2), None) for each in (env, other)]
        torch.testing.assert_close(steps[0], steps[1], rtol=0, atol=0)
    assert float(steps[0].bonus.abs().min()) > 0


def test_a_state_of_the_papers_f_is_refused() -> None:
    paper = RandomLatentExploration(clock_vector(SAME), 2, features=nn.Linear(2, 2))
    square = whitened(whitened_features=2, features=nn.Linear(2, 2))
    with pytest.raises(UsageError, match="whitens 0 features and this one 2"):
        square.load_state_dict(paper.state_dict())


def test_the_named_settings_are_the_trainers() -> None:
    assert {name: WHITENED_RLE[f"rle.{name}"] for name in WHITENED} == WHITENED


@pytest.mark.parametrize("make", [Pixels, lambda: Pixels(as_entry=True), Clock])
def test_the_named_settings_fit_observations_of_any_kind(make: Any) -> None:
    env = RandomLatentExploration(SyncVectorEnv([make] * 2), commit_every=4, **WHITENED)
    *_, last = played(env, 9)
    assert last[-1]["latent"].shape == (2, 4)
    assert (last[-1]["bonus"] != 0).any()


def test_phi_that_follows_has_as_many_features() -> None:
    env = RandomLatentExploration(clock_vector(SAME), commit_every=4, **WHITENED)
    env.follow(nn.Linear(2 + 4, 8))
    *_, last = played(env, 9)
    assert env.bonus.last_features is not None
    assert env.bonus.last_features.shape == (3, 128)
    assert (last[-1]["bonus"] != 0).any()


def test_whether_z_is_followed_is_judged_without_the_rarity() -> None:
    """A rarity that pays a lot says nothing of z."""
    env = whitened(rarity=1000.0)
    played(env, 3 * SEGMENT)
    earned = [mean for mean, _ in env.bonus.recent._earned]
    assert max(map(abs, earned)) < 10


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"unit_norm": True}, "unit_norm=False"),
        ({"standardise": False}, "standardise=True"),
        ({"whitened_features": 0}, "rarity is measured by whitened features"),
        ({"whitened_features": -1}, "whitened_features"),
        ({"rarity": -1.0}, "rarity"),
    ],
)
def test_what_cannot_be_is_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        BonusSettings(**WHITENED | settings)
