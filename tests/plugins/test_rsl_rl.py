"""`RLEPPO` of rsl_rl, in rsl_rl's own runner."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

pytest.importorskip("rsl_rl", reason="rsl-rl-lib is not installed")

from rsl_rl.algorithms import PPO
from rsl_rl.runners import OnPolicyRunner
from rsl_rl.storage import RolloutStorage

from rle.core.scaling import RewardScaler
from rle.errors import UsageError
from rle.plugins.rsl_rl import LATENT, WHITENED
from tests.plugins.rsl_worlds import PLAIN, Clocks, Line, Seen, configuration, runner

STEPS = 10
STILL: dict[str, Any] = {"learning_rate": 0.0, "normalize_advantage_per_mini_batch": True}
"""Nothing is learned, so that values after a rollout are those it was made with."""

# What the three environments' actions led to, step by step: steps of the episode, and its number.
TIME = ((1, 2, 3, 1, 2, 3, 1, 2, 3, 1), (1, 2, 3, 4, 5, 6, 1, 2, 3, 4), tuple(range(1, 11)))
EPISODE = ((0, 0, 0, 1, 1, 1, 2, 2, 2, 3), (0, 0, 0, 0, 0, 0, 1, 1, 1, 1), (0,) * 10)
ENDED = ((2, 5, 8), (5,), ())
LIMIT = ((), (5,), ())
CHANGED = ((2, 5, 8), (3, 5, 9), (3, 7))


def lived(gives_final: bool, **settings: Any) -> Any:
    """A runner after a rollout of ten steps of which nothing was learned."""
    run = runner(Clocks(gives_final), STEPS, PLAIN | settings, gamma=0.9, lam=0.8, **STILL)
    run.alg.bonus.features = Seen()
    run.learn(1)
    return run


def values(run: Any, time: float, episode: float, z: torch.Tensor) -> list[float]:
    shown = {"policy": torch.tensor([[float(time), float(episode)]]), LATENT: z[None]}
    observation = type(run.env.get_observations())(shown, batch_size=[1])
    return run.alg.critic(observation)[0].tolist()


@pytest.mark.parametrize("gives_final", [True, False])
def test_a_rollout_by_hand(gives_final: bool) -> None:
    """Across terminations, a time limit and changes of z; each stream is cut where it must be."""
    run = lived(gives_final)
    storage = run.alg.storage
    latents = storage.observations[LATENT]
    assert (storage.rewards == 1).all()
    for env in range(3):
        z = [*latents[:, env], run.alg.bonus.z[env]]
        changes = [step for step in range(STEPS) if not torch.equal(z[step], z[step + 1])]
        assert tuple(changes) == CHANGED[env]
        task = bonus = 0.0
        for step in reversed(range(STEPS)):
            ended = step in ENDED[env]
            time, episode = TIME[env][step], EPISODE[env][step]
            before = values(run, 0 if time == 1 else time - 1, episode, z[step])
            # Without the last observation of an episode, the one before stands in for it.
            time -= ended and not gives_final
            after = values(run, time, episode, z[step])
            paid = float(time * z[step][0] + episode * z[step][1])
            # Where an episode goes on, its task's value is that under the z to come.
            goes_on = after[0] if ended else values(run, time, episode, z[step + 1])[0]
            goes_on = 0.0 if ended and step not in LIMIT[env] else goes_on
            task = 1 + 0.9 * goes_on - before[0] + (0.0 if ended else 0.9 * 0.8 * task)
            cut = step in CHANGED[env]
            bonus = paid - before[1] + (0.0 if cut else 0.7 * after[1] + 0.7 * 0.8 * bonus)
            assert storage.advantages[step, env, 0].item() == pytest.approx(
                task + 0.5 * bonus, rel=1e-4, abs=1e-5
            )
            expected = [task + before[0], bonus + before[1]]
            assert storage.returns[step, env].tolist() == pytest.approx(expected, rel=1e-4)


def test_the_tasks_stream_is_rsl_rls_own() -> None:
    run = lived(gives_final=False, coefficient=0.0)
    mine = run.alg.storage
    observations = run.env.get_observations()
    plain = runner(Clocks(False), STEPS, None, "PPO", gamma=0.9, lam=0.8, **STILL).alg
    # Its values are the task's column of mine.
    plain.critic = lambda _: run.alg.critic(run.alg._with_latent(observations))[:, :1]
    plain.critic.get_hidden_state = lambda: None
    plain.critic.reset = lambda *_, **__: None
    plain.storage = RolloutStorage("rl", 3, STEPS, observations, [1], "cpu")
    plain.storage.values = run.alg.critic(mine.observations.flatten(0, 1))[:, :1].detach()
    plain.storage.values = plain.storage.values.reshape(STEPS, 3, 1)
    limits = torch.zeros(STEPS, 3, 1)
    limits[5, 1] = 1
    plain.storage.rewards = mine.rewards + 0.9 * limits * plain.storage.values
    plain.storage.dones = mine.dones
    PPO.compute_returns(plain, observations)
    torch.testing.assert_close(mine.returns[..., :1], plain.storage.returns)
    torch.testing.assert_close(mine.advantages, plain.storage.advantages)


def test_bonuses_are_scaled_as_a_rollout() -> None:
    plain, scaled = (lived(True, scale_bonus=scale).alg for scale in (False, True))
    bonus, stop = plain._bonuses[..., None], plain._switched[..., None]
    torch.testing.assert_close(plain._bonuses, scaled._bonuses)
    divisor = bonus / RewardScaler(3, torch.tensor([0.7]))(bonus, stop)
    # Where z changes at once, the return is the reward alone.
    cut = plain._switched
    returns = scaled.storage.returns[..., 1] * divisor[..., 0]
    torch.testing.assert_close(returns[cut], plain.storage.returns[..., 1][cut])


def test_the_loss_of_the_bonuss_value_is_not_clipped() -> None:
    run = runner(Clocks(True), STEPS, PLAIN, **STILL)
    run.alg.bonus.features = Seen()
    head = run.alg.critic.mlp[-1]
    torch.nn.init.zeros_(head.weight)
    torch.nn.init.zeros_(head.bias)
    returns: list[torch.Tensor] = []
    compute = run.alg.compute_returns

    def then_move(observation: Any) -> None:
        compute(observation)
        returns.append(run.alg.storage.returns.clone())
        head.bias.data[1] = 2.0

    run.alg.compute_returns = then_move
    measured: dict[str, float] = {}
    update = run.alg.update
    run.alg.update = lambda: measured.update(update()) or measured
    run.learn(1)
    task, bonus = returns[0][..., 0], returns[0][..., 1]
    expected = (task.square().mean() + (2.0 - bonus).square().mean()) / 2
    assert measured["value"] == pytest.approx(expected.item(), rel=1e-5)


def test_statistics_change_between_rollouts_only() -> None:
    run = runner(Clocks(True), STEPS, PLAIN | {"standardise": True})
    run.learn(1)
    assert (run.alg._bonuses == 0).all()
    assert float(run.alg.bonus.random_reward.moments.count) == 30
    run.learn(1)
    assert (run.alg._bonuses != 0).all()


def test_whitened_bonuses() -> None:
    run = runner(Line(4), 8, WHITENED | {"commit_every": 8})
    run.learn(3)
    assert run.alg.bonus.last_features.shape == (4, 128)
    assert float(run.alg.bonus.random_reward.moments.count) == 4 * 8 * 3
    assert (run.alg._bonuses != 0).all()


def test_phi_sees_what_the_critic_sees_and_not_z() -> None:
    run = runner(Clocks(True), STEPS, PLAIN | {"standardise": True}, normalise=True)
    run.learn(1)
    # What it saw before there was anything to normalise by is forgotten.
    assert float(run.alg.bonus.random_reward.moments.count) == 0
    run.learn(1)
    assert float(run.alg.bonus.random_reward.moments.count) == 30
    mine, theirs = run.alg.bonus.features.body.critic.obs_normalizer, run.alg.critic.obs_normalizer
    torch.testing.assert_close(mine.state_dict(), theirs.state_dict())
    observation = run.alg._with_latent(run.env.get_observations())
    features = run.alg.bonus.features(observation)
    observation[LATENT] = -observation[LATENT]
    assert torch.equal(run.alg.bonus.features(observation), features)
    observation["policy"] = observation["policy"] + 1
    assert not torch.equal(run.alg.bonus.features(observation), features)


def test_phi_follows_the_critic_after_every_gradient_step() -> None:
    rate = 0.25
    run = runner(Clocks(True), STEPS, PLAIN | {"feature_update_rate": rate}, num_learning_epochs=3)
    first = [part.clone() for part in run.alg.critic.parameters()]
    path: list[list[torch.Tensor]] = []
    run.alg.optimizer.register_step_post_hook(
        lambda *_: path.append([part.detach().clone() for part in run.alg.critic.parameters()])
    )
    last_layer = run.alg.bonus.features.projection.weight.clone()
    run.learn(1)
    assert len(path) == 3
    for index, mine in enumerate(run.alg.bonus.features.body.parameters()):
        expected = first[index]
        for step in path:
            expected = rate * step[index] + (1 - rate) * expected
        torch.testing.assert_close(mine, expected)
    assert torch.equal(run.alg.bonus.features.projection.weight, last_layer)


def test_save_load_and_go_on(tmp_path: Path) -> None:
    def fresh(seed: int) -> Any:
        return runner(Line(4), 8, PLAIN | {"standardise": True}, normalise=True, seed=seed)

    run = fresh(0)
    run.learn(4)
    run.save(str(tmp_path / "model.pt"))
    again = fresh(1)
    again.load(str(tmp_path / "model.pt"))
    seen = run.alg._with_latent(run.env.get_observations())
    seen["policy"] = torch.rand(4, 1)

    def paid(alg: Any) -> torch.Tensor:
        return alg.bonus.reward(alg.bonus.features(seen), seen[LATENT])

    assert torch.equal(paid(run.alg), paid(again.alg))
    assert (paid(run.alg) != 0).all()
    states = [
        alg.bonus.step(seen, torch.tensor([True] * 4)) and alg.bonus.state_dict()
        for alg in (run.alg, again.alg)
    ]
    torch.testing.assert_close(states[0], states[1], rtol=0, atol=0)
    again.learn(1)

    # Another number of environments, as where a policy is watched.
    watched = runner(Line(2), 8, PLAIN | {"standardise": True}, normalise=True)
    watched.load(str(tmp_path / "model.pt"))
    watched.learn(1)


def test_it_acts_in_environments_that_show_no_z() -> None:
    run = runner(Line(4), 8, PLAIN)
    policy = run.get_inference_policy()
    observation = run.env.get_observations()
    with torch.inference_mode():
        actions = policy(observation)
        assert torch.equal(policy(observation), actions)
        assert len(actions.unique()) == 4
        run.alg.evaluation_latent = torch.tensor([1.0, 0.0])
        assert len(policy(observation).unique()) == 1
    assert LATENT not in observation


def test_the_exported_policy_takes_z_after_the_observation(tmp_path: Path) -> None:
    run = runner(Line(4), 8, PLAIN)
    run.alg.evaluation_latent = torch.tensor([0.6, 0.8])
    observation = run.env.get_observations()
    exported = run.get_inference_policy().as_jit()
    together = torch.cat([observation["policy"], torch.tensor([[0.6, 0.8]] * 4)], -1)
    with torch.inference_mode():
        torch.testing.assert_close(exported(together), run.alg.get_policy()(observation))


def test_what_it_refuses(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="did you mean 'coefficient'"):
        runner(Line(4), 8, {"coeficient": 1.0})
    with pytest.raises(UsageError, match="feature_update_rate"):
        runner(Line(4), 8, {"feature_update_rate": 2.0})
    mirrored = {"use_data_augmentation": True, "use_mirror_loss": False}
    mirrored["data_augmentation_func"] = lambda **_: None  # type: ignore[assignment]
    with pytest.raises(UsageError, match="mirrored"):
        runner(Line(4), 8, PLAIN, symmetry_cfg=mirrored)
    plain = runner(Line(4), 8, None, "PPO")
    torch.save(plain.alg.save() | {"iter": 0, "infos": None}, tmp_path / "plain.pt")
    with pytest.raises(UsageError, match="without RLE"):
        runner(Line(4), 8, PLAIN).load(str(tmp_path / "plain.pt"))


MEMORY = {"class_name": "RNNModel", "rnn_type": "gru", "rnn_hidden_dim": 8, "rnn_num_layers": 1}


def with_memory(model: str) -> Any:
    settings = configuration(8, PLAIN, num_mini_batches=2)
    settings[model] |= MEMORY
    return OnPolicyRunner(Line(4), settings, device="cpu")


def test_the_actor_may_have_a_memory_and_the_critic_may_not() -> None:
    run = with_memory("actor")
    run.learn(2)
    assert (run.alg._bonuses != 0).all()
    with pytest.raises(UsageError, match="not recurrent"):
        with_memory("critic")


def test_the_runners_score_is_the_tasks(tmp_path: Path) -> None:
    run = runner(Clocks(True), STEPS, PLAIN)
    run.logger.log_dir = str(tmp_path)
    run.learn(1)
    assert set(run.logger.rewbuffer) == {3.0, 6.0}
    assert set(run.logger.lenbuffer) == {3.0, 6.0}


def test_it_learns_to_follow_z() -> None:
    settings = {"dimension": 2, "coefficient": 1.0, "unit_norm": True}
    learning = {"num_learning_epochs": 4, "num_mini_batches": 4, "learning_rate": 3e-3}
    run = runner(Line(16), 32, settings, **learning)
    run.learn(8)
    means = []
    for _ in range(3):
        run.learn(1)
        means.append(float(run.alg._bonuses.mean()))
    # Of a policy that does not look at z, it is zero on average.
    assert sum(means) / 3 > 0.2


def test_without_the_extra_the_import_says_what_installs_it() -> None:
    script = "import sys; sys.modules['rsl_rl'] = None; import rle.plugins.rsl_rl"
    result = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert result.stderr.strip().splitlines()[-1] == (
        "ImportError: rle.plugins.rsl_rl needs rsl-rl-lib: "
        "pip install 'random-latent-exploration[rsl-rl]'"
    )
