"""RLE around Gymnasium's vector environments: what the learner is handed, number by number."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import gymnasium
import numpy as np
import pytest
import torch
from gymnasium.utils.env_checker import data_equivalence
from gymnasium.utils.passive_env_checker import check_observation_space
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from gymnasium.wrappers.vector import RecordEpisodeStatistics
from torch import nn

from rle import core
from rle.config import RLEConfig
from rle.errors import UsageError
from rle.explore.rle import RandomLatentExploration as Strategy
from rle.plugins.gymnasium import RandomLatentExploration
from rle.plugins.latent_bonus import DrawnAhead
from rle.tasks.base import Step
from tests.plugins.worlds import PLAIN, Clock, Itself, Pixels, clock_vector

NEXT, SAME, DISABLED = AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP, AutoresetMode.DISABLED
STEPS = 10
# By hand, a row per step and a column per environment. The first environment terminates every 3 steps,
# the second is truncated after 6, the third goes on; every z lasts 4 steps or until the episode's end.
# In next-step mode, the call after an end only resets ("-").
SAME_CHANGED = ["...", "...", "T..", ".TT", "...", "TT.", "...", "..T", "T..", ".T."]
SAME_TIME = ["111", "222", "333", "144", "255", "366", "117", "228", "339", "14:"]
NEXT_CHANGED = ["...", "...", "T..", "-TT", "...", ".T.", "T-.", "-.T", "...", "..."]
NEXT_TIME = ["111", "222", "333", "-44", "155", "266", "3-7", "-18", "129", "23:"]
BY_HAND = {SAME: (SAME_CHANGED, SAME_TIME), NEXT: (NEXT_CHANGED, NEXT_TIME)}


def wrapped(mode: AutoresetMode, **settings: Any) -> RandomLatentExploration:
    return RandomLatentExploration(clock_vector(mode), features=Itself(), **PLAIN | settings)


def played(env: RandomLatentExploration, steps: int = STEPS) -> list[Any]:
    """What `steps` steps return, with the observation that each was taken in."""
    observation, _ = env.reset(seed=0)
    rows = []
    for _ in range(steps):
        outcome = env.step(np.zeros(env.num_envs, np.int64))
        rows.append((observation, *outcome))
        observation = outcome[0]
    return rows


@pytest.mark.parametrize("mode", [SAME, NEXT])
def test_a_rollout_across_ends_limits_and_changes_of_z(mode: AutoresetMode) -> None:
    changed, times = BY_HAND[mode]
    rows = played(wrapped(mode))
    for step, (before, after, reward, terminated, truncated, info) in enumerate(rows):
        ended = terminated | truncated
        for env in range(3):
            if changed[step][env] == "-":
                # Nothing is paid or counted, and the first observation comes with the new z.
                assert reward[env] == 0
                assert info["bonus"][env] == 0
                assert not info["_bonus"][env]
                assert not info["latent_changed"][env]
                assert not np.array_equal(after[env, 2:], before[env, 2:])
                assert after[env, 0] == 0
                continue
            time, z = ord(times[step][env]) - ord("0"), before[env, 2:]
            reached = info["final_obs"][env] if mode is SAME and ended[env] else after[env]
            assert reached[0] == time
            # Paid for the state that was reached, under the z that the action was taken with.
            bonus = time * z[0] + reached[1] * z[1]
            np.testing.assert_allclose(info["bonus"][env], bonus, rtol=1e-5)
            np.testing.assert_allclose(reward[env], 1 + 0.5 * bonus, rtol=1e-5)
            assert info["task_reward"][env] == 1
            np.testing.assert_array_equal(info["latent"][env], z)
            assert info["latent_changed"][env] == (changed[step][env] == "T")
            if ended[env]:
                # The last observation of an episode carries the z that it was reached under.
                np.testing.assert_array_equal(reached[2:], z)
            shows_new = changed[step][env] == "T" and (mode is SAME or not ended[env])
            assert np.array_equal(after[env, 2:], z) != shows_new


@pytest.mark.parametrize("mode", [SAME, NEXT])
def test_it_pays_and_cuts_as_our_trainer_does(mode: AutoresetMode) -> None:
    settings = RLEConfig(
        dimension=2, resample_every=4, standardise=False, unit_norm=False, coefficient=0.5
    )
    ours = Strategy(settings, Itself(), 3, 0.99, 0, torch.device("cpu"))
    ours._latent_distribution = DrawnAhead(core.sphere)  # the same z
    ours.start(None)  # type: ignore[arg-type]
    skipped = np.zeros(3, bool)
    for before, after, _, terminated, truncated, info in played(wrapped(mode)):
        real = torch.from_numpy(~skipped)
        z = ours.latent()
        np.testing.assert_array_equal(z[real].numpy(), before[~skipped, 2:])
        reached = after[:, :2].copy()
        ended = terminated | truncated
        if mode is SAME:
            for env in np.flatnonzero(ended):
                reached[env] = info["final_obs"][env][:2]
        asked: Any = SimpleNamespace(next_observation=torch.from_numpy(reached), latent=z)
        bonus = ours.bonus(asked)[:, 0] * real
        np.testing.assert_allclose(info["bonus"], bonus.numpy(), rtol=1e-6)
        ours.draw(1)
        flags = map(torch.from_numpy, (terminated, truncated))
        cut = ours.after_step(Step(torch.zeros(3), *flags, torch.zeros(3), torch.zeros(3), real))
        assert cut is not None
        np.testing.assert_array_equal(info["latent_changed"], cut[:, 0].numpy())
        skipped = ended & (mode is NEXT)


def test_without_auto_reset_the_new_z_comes_with_the_users_reset() -> None:
    env = wrapped(DISABLED)
    rows = played(env, 3)
    before, after, _, terminated, _, _ = rows[-1]
    assert terminated.tolist() == [True, False, False]
    np.testing.assert_array_equal(before[:, 2:], after[:, 2:])
    observation, info = env.reset(options={"reset_mask": terminated})
    np.testing.assert_array_equal(observation[1:, 2:], after[1:, 2:])
    assert not np.array_equal(observation[0, 2:], after[0, 2:])
    np.testing.assert_array_equal(info["latent"], observation[:, 2:])
    _, _, _, _, info = env.step(np.zeros(3, np.int64))
    # Four steps under one z: the environment that was reset has made one.
    assert info["latent_changed"].tolist() == [False, True, True]


def test_nothing_is_paid_before_the_statistics_are_known() -> None:
    env = wrapped(SAME, standardise=True, commit_every=4)
    bonuses = np.stack([row[-1]["bonus"] for row in played(env, 5)])
    assert (bonuses[:4] == 0).all()
    assert (bonuses[4] != 0).all()


@pytest.mark.parametrize("mode", [SAME, NEXT, DISABLED])
def test_warm_up_takes_in_what_was_reached_and_only_that(mode: AutoresetMode) -> None:
    env = wrapped(mode, standardise=True)
    env.warm_up(6, seed=0)
    # Resets are no transitions, and the zeros of new episodes were not reached by an action.
    times = {
        SAME: [1, 2, 3, 1, 2, 3, *range(1, 7), *range(1, 7)],
        NEXT: [1, 2, 3, 1, 2, *range(1, 7), *range(1, 7)],
        DISABLED: [1, 2, 3, 1, 2, 3, *range(1, 7), *range(1, 7)],
    }[mode]
    moments = env.bonus.random_reward.moments
    assert float(moments.count) == len(times)
    assert float(moments.mean[0]) == pytest.approx(np.mean(times))
    assert float(moments.std[0]) == pytest.approx(np.std(times))
    assert env.bonus.ready


def test_after_a_warm_up_bonuses_are_paid_at_once() -> None:
    env = wrapped(NEXT, standardise=True, scale_bonus=True)
    env.warm_up(6, seed=0)
    _, _, reward, _, _, info = played(env, 1)[0]
    assert (info["bonus"] != 0).all()
    assert (reward != 1).all()


def test_it_never_steps_the_environments_on_its_own() -> None:
    env = RandomLatentExploration(SyncVectorEnv([Clock] * 2))
    env.reset(seed=0)
    assert [clock.unwrapped.calls for clock in env.unwrapped.envs] == [0, 0]  # type: ignore[attr-defined]


def test_the_bonus_is_in_units_of_its_discounted_sum() -> None:
    """As it was at the last commit; before the first, nothing is paid."""
    env = wrapped(SAME, scale_bonus=True, discount=0.9, commit_every=4)
    sums: list[float] = []
    carry, scale = np.zeros(3), np.inf
    for step, (_, _, reward, _, _, info) in enumerate(played(env)):
        assert (info["bonus"] != 0).any()
        np.testing.assert_allclose(reward, 1 + 0.5 * info["bonus"] / scale, rtol=1e-4)
        carry = info["bonus"] + 0.9 * carry
        sums.extend(carry.tolist())
        carry = np.where(info["latent_changed"], 0, carry)
        if step in (3, 7):
            scale = np.sqrt(np.var(sums) + 1e-8)


def test_episode_statistics_underneath_see_the_task_alone() -> None:
    inner = RecordEpisodeStatistics(clock_vector(SAME))
    env = RandomLatentExploration(inner, features=Itself(), **PLAIN)
    played(env, 6)
    assert list(inner.return_queue) == [3, 3, 6]


def test_the_same_seed_gives_the_same_rollout() -> None:
    first, second = (played(wrapped(NEXT)) for _ in range(2))
    env = wrapped(NEXT)
    played(env, 3)
    for rows in (second, played(env)):
        for one, other in zip(first, rows, strict=True):
            assert data_equivalence(one, other, exact=True)


SPACES = [
    (lambda: Clock(3), None),
    (lambda: Pixels((40, 40, 3)), "observation"),
    (lambda: Pixels((4, 84, 84)), "observation"),
    (lambda: Pixels((40, 40)), "observation"),
    (lambda: Pixels((5, 5, 3)), "observation"),
    (lambda: Pixels(as_entry=True), "picture"),
    (lambda: gymnasium.make("FrozenLake-v1"), "observation"),
    (lambda: gymnasium.make("Blackjack-v1"), "observation"),
]


@pytest.mark.parametrize(("make", "entry"), SPACES)
@pytest.mark.parametrize("mode", [SAME, NEXT])
def test_observations_of_any_space_gain_z(make: Any, entry: str | None, mode: Any) -> None:
    env = RandomLatentExploration(
        SyncVectorEnv([make] * 3, autoreset_mode=mode), dimension=3, commit_every=4
    )
    if entry is not None:
        assert entry in env.single_observation_space.keys()  # type: ignore[attr-defined] # noqa: SIM118
    check_observation_space(env.single_observation_space)
    env.action_space.seed(0)
    observation, _ = env.reset(seed=0)
    for _ in range(12):
        assert env.observation_space.contains(observation)
        z = observation[:, -3:] if entry is None else observation["latent"]
        np.testing.assert_allclose(np.linalg.norm(z, axis=-1), 1, rtol=1e-5)
        observation, _, terminated, truncated, info = env.step(env.action_space.sample())
        if mode is SAME:
            for index in np.flatnonzero(terminated | truncated):
                assert env.single_observation_space.contains(info["final_obs"][index])
    assert (info["bonus"] != 0).all() or not info["_bonus"].all()
    env.close()


def test_final_observations_may_be_batches() -> None:
    class Batched(gymnasium.vector.VectorWrapper[Any, Any, Any, Any, Any]):
        def step(self, actions: Any) -> Any:
            *outcome, info = self.env.step(actions)
            if "final_obs" in info:
                rows = [np.zeros(2) if row is None else row for row in info["final_obs"]]
                info["final_obs"] = np.stack(rows).astype(np.float32)
            return *outcome, info

    env = RandomLatentExploration(Batched(clock_vector(SAME)), features=Itself(), **PLAIN)
    for one, other in zip(played(env), played(wrapped(SAME)), strict=True):
        np.testing.assert_array_equal(one[2], other[2])


class TestFeatures:
    def test_phi_is_one_for_all_ranks(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """The same seed on each rank: the same φ, other z."""
        monkeypatch.setattr(torch.distributed, "is_initialized", lambda: True)
        made = []
        for rank in (0, 1):
            monkeypatch.setattr(torch.distributed, "get_rank", lambda rank=rank: rank)
            made.append(RandomLatentExploration(clock_vector(SAME)))
        observation = torch.tensor([[1.0, 2.0]])
        first, second = (env.bonus.features(observation) for env in made)
        torch.testing.assert_close(first, second, rtol=0, atol=0)
        assert not torch.equal(made[0].bonus.z, made[1].bonus.z)

    def test_following_is_the_trainers_moving_average_of_the_observations_columns(self) -> None:
        env = wrapped(SAME)
        leader = nn.Sequential(nn.Linear(4, 8), nn.Tanh())
        env.follow(leader, 0.25)
        start = leader[0].weight.detach().clone()
        with torch.no_grad():
            leader[0].weight.add_(1.0)
        env.follow(leader, 0.25)
        mine = nn.Sequential(nn.Linear(2, 8), nn.Tanh())
        mine[0].load_state_dict({"weight": start[:, :2], "bias": leader[0].bias})
        core.follow(mine, leader, 0.25)
        observation = torch.randn(5, 2)
        body = env.bonus.features.body  # type: ignore[union-attr]
        torch.testing.assert_close(body(observation), mine(observation))
        assert not any(p.requires_grad for p in env.bonus.features.parameters())

    def test_following_starts_the_statistics_afresh(self) -> None:
        env = wrapped(SAME, standardise=True)
        env.warm_up(4, seed=0)
        env.follow(nn.Linear(4, 8))
        assert not env.bonus.ready

    def test_following_on_dictionaries(self) -> None:
        class Body(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.layer = nn.Linear(40 * 40 * 3 + 3, 4)

            def forward(self, seen: Any) -> torch.Tensor:
                flat = seen["observation"].flatten(1).float()
                return self.layer(torch.cat([flat, seen["latent"]], -1))

        env = RandomLatentExploration(SyncVectorEnv([Pixels]), 3, commit_every=1)
        env.follow(Body())
        played(env, 2)
        assert env.bonus.features.projection.weight.shape == (3, 4)  # type: ignore[union-attr]

    def test_own_features_of_the_wrong_width_are_refused(self) -> None:
        with pytest.raises(UsageError, match=r"\(2, 5\) instead of \(2, 2\)"):
            RandomLatentExploration(clock_vector(SAME), 2, features=nn.Linear(2, 5))

    def test_a_module_that_ends_in_no_vector_is_not_followed(self) -> None:
        with pytest.raises(UsageError, match="one vector per observation"):
            wrapped(SAME).follow(nn.Unflatten(-1, (2, 2)))


class TestState:
    def test_saved_and_loaded_it_goes_on_exactly(self, tmp_path: Any) -> None:
        settings: Any = {"standardise": True, "scale_bonus": True, "commit_every": 3}
        env = RandomLatentExploration(clock_vector(NEXT), 2, **settings)
        played(env, 6)
        env.save(tmp_path / "state")
        other = RandomLatentExploration(clock_vector(NEXT), 2, seed=5, **settings)
        other.reset(seed=7)
        other.load(tmp_path / "state")
        observation, z = torch.randn(4, 2), torch.randn(4, 2)
        for first, second in [
            (env.reward_of(observation, z), other.reward_of(observation, z)),
            (env.bonus.z, other.bonus.z),
        ]:
            torch.testing.assert_close(first, second, rtol=0, atol=0)
        ended = torch.tensor([True, False, True])
        steps = [each.bonus.step(torch.ones(3, 2), ended) for each in (env, other)]
        torch.testing.assert_close(steps[0], steps[1], rtol=0, atol=0)
        torch.testing.assert_close(env.bonus.z, other.bonus.z, rtol=0, atol=0)

    def test_f_goes_on_with_another_number_of_environments(self) -> None:
        env = RandomLatentExploration(clock_vector(SAME), 2)
        env.warm_up(4, seed=0)
        other = RandomLatentExploration(SyncVectorEnv([Clock] * 5), 2, seed=3)
        other.load_state_dict(env.state_dict())
        observation, z = torch.randn(4, 2), torch.randn(4, 2)
        torch.testing.assert_close(env.reward_of(observation, z), other.reward_of(observation, z))
        assert len(played(other, 2)[0][0]) == 5

    def test_what_cannot_be_loaded(self, tmp_path: Any) -> None:
        env = RandomLatentExploration(clock_vector(SAME), 2)
        with pytest.raises(UsageError, match="dimension=2"):
            RandomLatentExploration(clock_vector(SAME), 3).load_state_dict(env.state_dict())
        env.follow(nn.Linear(4, 8))
        with pytest.raises(UsageError, match="call follow"):
            RandomLatentExploration(clock_vector(SAME), 2).load_state_dict(env.state_dict())
        with pytest.raises(UsageError, match="cannot be read"):
            env.load(tmp_path / "nothing")


def test_evaluation_shows_z_and_pays_the_task_alone() -> None:
    env = wrapped(SAME)
    watched = env.for_evaluation(clock_vector(SAME), latent=[0.6, 0.8])
    assert watched.observation_space == env.observation_space
    for before, after, reward, _, _, _ in played(watched):
        np.testing.assert_allclose(before[:, 2:], [[0.6, 0.8]] * 3)
        np.testing.assert_allclose(after[:, 2:], [[0.6, 0.8]] * 3)
        assert (reward == 1).all()
    drawn = played(env.for_evaluation(clock_vector(SAME)))
    assert len({tuple(row[0][0, 2:]) for row in drawn}) > 1


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"coeficient": 1.0}, "did you mean 'coefficient'"),
        ({"distribution": "spere"}, "did you mean 'sphere'"),
        ({"resample_every": 0}, "above 0"),
        ({"latent": [1.0]}, r"give one of \(8,\)"),
    ],
)
def test_bad_settings(settings: dict[str, Any], reason: str) -> None:
    with pytest.raises(UsageError, match=reason):
        RandomLatentExploration(clock_vector(SAME), **settings)


def test_wrapped_twice_or_of_an_unknown_mode() -> None:
    vector = SyncVectorEnv([Pixels])
    with pytest.raises(UsageError, match="only once"):
        RandomLatentExploration(RandomLatentExploration(vector))
    vector.metadata = {}
    with pytest.raises(UsageError, match="autoreset_mode"):
        RandomLatentExploration(vector)
