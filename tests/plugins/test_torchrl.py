"""The transform for TorchRL."""

from __future__ import annotations

import subprocess
import sys
import warnings
from typing import Any

import pytest
import torch

pytest.importorskip("tensordict", reason="TorchRL is not installed")
with warnings.catch_warnings():
    # From inside TorchRL.
    warnings.simplefilter("ignore")
    pytest.importorskip("torchrl.envs", reason="TorchRL is not installed")
    from torchrl.data import Binary, Composite, Unbounded
    from torchrl.envs import EnvBase, TransformedEnv
    from torchrl.modules import NormalParamExtractor, ProbabilisticActor, TanhNormal, ValueOperator
    from torchrl.objectives import SACLoss
    from torchrl.objectives.value import GAE

from tensordict import TensorDict
from tensordict.nn import TensorDictModule
from torch import nn

from rle.core.returns import advantages
from rle.errors import UsageError
from rle.plugins.torchrl import WHITENED, RandomLatentExploration
from tests.plugins.worlds import PLAIN, Itself

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning")

STEPS = 10
ENDS = torch.tensor([[3], [6], [1000]])
LIMITED = torch.tensor([[False], [True], [False]])
# What the three environments' actions led to, step by step: steps of the episode, and its number.
TIME = ((1, 2, 3, 1, 2, 3, 1, 2, 3, 1), (1, 2, 3, 4, 5, 6, 1, 2, 3, 4), tuple(range(1, 11)))
EPISODE = ((0, 0, 0, 1, 1, 1, 2, 2, 2, 3), (0, 0, 0, 0, 0, 0, 1, 1, 1, 1), (0,) * 10)
ENDED = ((2, 5, 8), (5,), ())
CHANGED = ((2, 5, 8), (3, 5, 9), (3, 7))


class Clocks(EnvBase):
    """Shows (steps of this episode, number of the episode); the reward is 1.

    The first terminates after 3 steps, the second's time is up after 6, the third never ends.
    """

    def __init__(self) -> None:
        super().__init__(batch_size=torch.Size([3]))
        self.observation_spec = Composite(observation=Unbounded((3, 2)), shape=(3,))
        self.action_spec = Unbounded((3, 1))
        self.reward_spec = Unbounded((3, 1))
        ends = {key: Binary(1, (3, 1), dtype=torch.bool) for key in ("done", "terminated")}
        self.done_spec = Composite(**ends, truncated=ends["done"].clone(), shape=(3,))
        self._time = torch.zeros(3, 1)
        self._episode = torch.full((3, 1), -1.0)

    def _observation(self) -> torch.Tensor:
        return torch.cat([self._time, self._episode], -1)

    def _reset(self, tensordict: Any = None, **_: Any) -> Any:
        mask = None if tensordict is None else tensordict.get("_reset", None)
        mask = torch.ones(3, 1, dtype=torch.bool) if mask is None else mask
        self._time = torch.where(mask, 0.0, self._time)
        self._episode = self._episode + mask
        return TensorDict({"observation": self._observation()}, batch_size=[3])

    def _step(self, tensordict: Any) -> Any:
        self._time = self._time + 1
        ended = self._time == ENDS
        parts = {"observation": self._observation(), "reward": torch.ones(3, 1), "done": ended}
        parts |= {"terminated": ended & ~LIMITED, "truncated": ended & LIMITED}
        return TensorDict(parts, batch_size=[3])

    def _set_seed(self, seed: int | None) -> None: ...


def transformed(**settings: Any) -> Any:
    known = {"features": Itself(), **PLAIN, **settings}
    return TransformedEnv(Clocks(), RandomLatentExploration(**known))


def lived(env: Any, steps: int = STEPS) -> Any:
    """A rollout `[3, T]` across the ends of episodes."""
    return env.rollout(steps, break_when_any_done=False)


def test_a_rollout_by_hand() -> None:
    """Across terminations, a time limit and changes of z."""
    rollout = lived(transformed())
    assert (rollout["next", "reward"] == 1).all()
    for env in range(3):
        z, after = rollout["latent"][env], rollout["next", "latent"][env]
        assert len(z.unique(dim=0)) == len([step for step in CHANGED[env] if step < 9]) + 1
        for step in range(STEPS):
            time, episode = TIME[env][step], EPISODE[env][step]
            reached = rollout["next", "observation"][env, step].tolist()
            assert reached == [time, episode]
            paid = float(time * z[step][0] + episode * z[step][1])
            row = rollout["next"][env, step]
            assert row["bonus"].item() == pytest.approx(paid, rel=1e-5, abs=1e-6)
            assert row["bonus_reward"].item() == pytest.approx(0.5 * paid, rel=1e-5, abs=1e-6)
            assert row["latent_changed"].item() == (step in CHANGED[env])
            # The last observation of an episode keeps the z it was reached under.
            stays = step in ENDED[env] or step not in CHANGED[env]
            assert torch.equal(after[step], z[step]) == stays
            if step < STEPS - 1:
                changed = step in CHANGED[env]
                assert torch.equal(z[step + 1], z[step]) == (not changed)
                assert torch.equal(z[step + 1], after[step]) == (step not in ENDED[env])


def test_two_gaes_are_the_trainers_returns() -> None:
    rollout = lived(transformed())
    torch.manual_seed(0)
    values = nn.Linear(4, 2)
    streams = []
    for stream, name in enumerate(("task", "bonus")):

        class Column(nn.Module):
            def __init__(self, stream: int) -> None:
                super().__init__()
                self.stream = stream

            def forward(self, observation: Any, latent: Any) -> Any:
                return values(torch.cat([observation, latent], -1))[..., self.stream, None]

        network = TensorDictModule(Column(stream), ["observation", "latent"], [f"{name}_value"])
        gae = GAE(gamma=(0.9, 0.7)[stream], lmbda=0.8, value_network=network)
        gae.set_keys(value=f"{name}_value")
        if stream:
            gae.set_keys(reward="bonus_reward", done="latent_changed", terminated="latent_changed")
        with torch.no_grad():
            streams.append(gae(rollout.clone())["advantage"][..., 0].T)

    def seen(part: Any) -> Any:
        with torch.no_grad():
            return values(torch.cat([part["observation"], part["latent"]], -1)).transpose(0, 1)

    def columns(*keys: str) -> Any:
        return torch.stack([rollout["next", key][..., 0].T for key in keys], -1)

    expected = advantages(
        columns("reward", "bonus_reward"),
        seen(rollout),
        seen(rollout["next"]),
        columns("terminated", "latent_changed"),
        columns("done", "latent_changed"),
        torch.tensor([0.9, 0.7]),
        0.8,
    )
    torch.testing.assert_close(torch.stack(streams, -1), expected)


def test_the_reward_may_gain_the_bonus() -> None:
    rollout = lived(transformed(add_to_reward=True))
    after = rollout["next"]
    torch.testing.assert_close(after["reward"], 1 + after["bonus_reward"])


def test_sac_learns_from_the_sum() -> None:
    class Together(nn.Sequential):
        def forward(self, *parts: Any) -> Any:
            return super().forward(torch.cat(parts, -1))

    seen = ["observation", "latent"]
    env = transformed(add_to_reward=True)
    parameters = TensorDictModule(
        Together(nn.Linear(4, 2), NormalParamExtractor()), seen, ["loc", "scale"]
    )
    actor = ProbabilisticActor(parameters, ["loc", "scale"], distribution_class=TanhNormal)
    critic = ValueOperator(Together(nn.Linear(5, 1)), [*seen, "action"])
    loss = SACLoss(actor, critic, action_spec=Unbounded(1), target_entropy=-1.0)
    losses = loss(lived(env).reshape(-1))
    losses["loss_qvalue"].backward()
    assert losses["loss_qvalue"].isfinite()


def test_a_reset_from_outside_gives_a_new_z_once() -> None:
    env = transformed()
    first = env.reset()["latent"]
    second = env.reset()["latent"]
    assert len(torch.cat([first, second]).unique(dim=0)) == 6
    ended = lived(env, 3)
    # The first environment's episode is over: its z is new already, and a reset keeps it.
    drawn = env.transform.bonus.z.clone()
    mask = torch.tensor([[True], [False], [False]])
    root = ended[:, -1]["next"].exclude("reward").set("_reset", mask)
    torch.testing.assert_close(env.reset(root)["latent"], drawn)


def test_whitened_bonuses() -> None:
    env = TransformedEnv(Clocks(), RandomLatentExploration(commit_every=5, **WHITENED))
    rows = lived(env, 10)["next"]
    assert rows["latent"].shape == (3, 10, 4)
    assert (rows["bonus"][:, :5] == 0).all()
    assert (rows["bonus"][:, 5:] != 0).all()


def test_save_load_and_go_on() -> None:
    env, again = (transformed(standardise=True, scale_bonus=True, seed=seed) for seed in (0, 1))
    lived(env, 20)
    env.transform.commit()
    lived(env, 20)
    again.load_state_dict(env.state_dict())
    observation, z = torch.rand(3, 2), env.transform.bonus.z

    def paid(each: Any) -> Any:
        bonus = each.transform.bonus
        return bonus.scale(bonus.reward(bonus.features(observation), z))

    assert torch.equal(paid(env), paid(again))
    assert (paid(env) != 0).all()
    ended = torch.tensor([True] * 3)
    first, second = (each.transform.bonus.step(observation, ended) for each in (env, again))
    torch.testing.assert_close(tuple(first), tuple(second), rtol=0, atol=0)
    assert torch.equal(env.transform.bonus.z, again.transform.bonus.z)


def test_evaluation_shows_z_and_pays_nothing() -> None:
    env = transformed()
    z = torch.tensor([0.6, 0.8])
    watched = TransformedEnv(Clocks(), env.transform.for_evaluation(latent=z))
    rollout = lived(watched)
    assert (rollout["latent"] == z).all()
    assert (rollout["next", "bonus_reward"] == 0).all()


def test_what_it_refuses() -> None:
    with pytest.raises(UsageError, match="did you mean 'distribution'"):
        RandomLatentExploration(distributions="sphere")
    with pytest.raises(UsageError, match="shows no 'pixels'"):
        transformed(in_key="pixels").reset()
    with pytest.raises(UsageError, match="rename it"):
        TransformedEnv(transformed(), RandomLatentExploration()).observation_spec  # noqa: B018
    with pytest.raises(UsageError, match="not part of an environment"):
        RandomLatentExploration().bonus  # noqa: B018
    with pytest.raises(UsageError, match="replay buffer"):
        RandomLatentExploration().forward(TensorDict({}))


def test_without_the_extra_the_import_says_what_installs_it() -> None:
    script = "import sys; sys.modules['torchrl'] = None; import rle.plugins.torchrl"
    result = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert result.stderr.strip().splitlines()[-1] == (
        "ImportError: rle.plugins.torchrl needs TorchRL: "
        "pip install 'random-latent-exploration[torchrl]'"
    )
