"""Properties of the training loop."""

import pytest
import torch

from rle.agents.device import resolve_device
from rle.errors import UsageError
from rle.runs.episodes import EpisodeTracker
from rle.runs.trainer import Trainer
from tests.builders import small_config


def started(explore: str, **settings: object) -> Trainer:
    trainer = Trainer(small_config(explore, **settings))
    trainer.start()
    return trainer


@pytest.mark.parametrize("strategy", ["rle", "rnd", "white_noise"])
def test_coefficient_zero_is_ppo_bit_for_bit(strategy: str) -> None:
    explore = strategy.replace("_", "-")
    # CartPole pays at every step: with a reward of zero, a coefficient would have nothing to change.
    silent = started(explore, **{f"{strategy}__coefficient": 0.0}, task="gym/CartPole-v1")
    plain = started("none", task="gym/CartPole-v1")
    for _ in range(4):
        silent.iterate()
        plain.iterate()
    pairs = zip(silent.network.parameters(), plain.network.parameters(), strict=True)
    assert all(torch.equal(a, b) for a, b in pairs)


def test_latent_stands_beside_the_observation_it_conditioned() -> None:
    trainer = started("rle", task="fourroom", rle__resample_every=5)
    trainer.collect()
    rollout = trainer.rollout
    cut = rollout.bonus_cut[..., 0]
    changed = (rollout.latent[1:] != rollout.latent[:-1]).any(-1)
    assert torch.equal(changed, cut)
    assert cut.any(1).nonzero().squeeze(-1).tolist() == [4, 9, 14]


def test_true_next_observations_at_a_time_limit() -> None:
    trainer = started("none", task="fourroom", time_limit=7)
    trainer.collect()
    rollout = trainer.rollout
    truncated_rows = rollout.truncated.any(1).nonzero().squeeze(-1).tolist()
    assert truncated_rows == [6, 13]
    truth = rollout.next_observation()
    start = torch.ones(8, 2)
    assert torch.equal(rollout.observation[7], start)
    assert not torch.equal(truth[6], start)
    ordinary = [row for row in range(16) if row not in (6, 13)]
    assert torch.equal(truth[ordinary], rollout.observation[1:][ordinary])
    everything = torch.arange(16 * 8)
    assert torch.equal(rollout.next_observation_at(everything), truth.flatten(0, 1))


def test_time_limit_bootstraps_from_the_true_last_observation() -> None:
    """With λ = 0 and no reward, return = γ V(true next state): compare with the network itself."""
    trainer = started("none", task="fourroom", time_limit=7, gae_lambda=0.0)
    trainer.collect()
    batch, _, _ = trainer.learner.prepare(trainer.rollout, trainer.strategy)
    with torch.no_grad():
        value = trainer.network.value(trainer.rollout.next_observation(), None)
    torch.testing.assert_close(batch.returns, 0.99 * value.flatten(0, 1))


def test_episode_tracker_carries_across_rollouts_and_skips_reset_rows() -> None:
    tracker = EpisodeTracker(2)
    score = torch.tensor([[1.0, 10.0], [2.0, 20.0], [4.0, 40.0]])
    over = torch.tensor([[False, False], [True, False], [False, False]])
    first = tracker.take(score, over, None)
    assert [(e.row, e.env, e.score, e.length) for e in first] == [(1, 0, 3.0, 2)]
    real = torch.tensor([[False, True], [True, True], [True, True]])
    over = torch.tensor([[False, True], [True, False], [False, True]])
    second = tracker.take(score, over, real)
    assert [(e.row, e.env, e.score, e.length) for e in second] == [
        (0, 1, 80.0, 4),  # 10 + 20 + 40, then 10
        (1, 0, 6.0, 2),  # 4, then 2: row 0 only reset the environment
        (2, 1, 60.0, 2),
    ]


@pytest.mark.parametrize("explore", ["none", "rle", "rnd", "noisy"])
@pytest.mark.parametrize("task", ["gym/CartPole-v1", "gym/Pendulum-v1"])
def test_trains_on_discrete_and_continuous_actions(explore: str, task: str) -> None:
    trainer = started(explore, task=task)
    for _ in range(3):
        metrics, _ = trainer.iterate()
    assert all(value == value for value in metrics.values() if isinstance(value, float))


def test_a_task_of_another_size_is_refused() -> None:
    from tests.probes.environments import ConstantReward

    with pytest.raises(UsageError, match="the task has 3 environments"):
        Trainer(small_config("none"), ConstantReward(3))


def test_absent_device_is_one_sentence() -> None:
    with pytest.raises(UsageError, match="not available"):
        resolve_device("cuda:7")
    with pytest.raises(UsageError, match="not available"):
        resolve_device("gpuu")


def test_learning_rate_is_annealed_when_asked() -> None:
    trainer = started("none", anneal_learning_rate=True)
    rates = []
    for _ in range(8):
        trainer.iterate()
        rates.append(trainer.learner.optimiser.learning_rate)
    # Linear from the full rate to one eighth of it in the last of eight iterations.
    assert rates[0] == pytest.approx(1e-3)
    assert rates[-1] == pytest.approx(1e-3 / 8)


def test_compiled_update_agrees_with_the_plain_one() -> None:
    """Same gradient to rounding; skipped where there is no compiler."""
    from rle.learn.compilation import compiled, compiler_available

    if not compiler_available():
        pytest.skip("no C++ compiler here")
    trainer = started("rle")
    trainer.collect()
    batch, _, _ = trainer.learner.prepare(trainer.rollout, trainer.strategy)
    index = torch.arange(32)
    gradients = trainer.learner._gradients
    plain, _ = gradients._gradient_of_whole(batch, index, ())
    fast, _ = compiled(gradients._gradient_of_whole, trainer.device)(batch, index, ())
    torch.testing.assert_close(plain, fast, atol=1e-6, rtol=1e-4)


@pytest.mark.parametrize(("explore", "warm_up"), [("none", 0), ("rnd", 2), ("rle+rnd", 2)])
def test_steps_of_the_warm_up_count(explore: str, warm_up: int) -> None:
    """Eight rollouts of 128 steps in all, of which RND spends two on random actions."""
    trainer = Trainer(small_config(explore))
    trainer.start()
    assert trainer.step == warm_up * 128
    steps = []
    while not trainer.done:
        metrics, _ = trainer.iterate()
        steps.append(metrics["step"])
    assert steps == [128 * number for number in range(warm_up + 1, 9)]
    assert steps[-1] == trainer.config.total_steps


def test_a_run_that_would_be_all_warm_up_is_refused() -> None:
    with pytest.raises(UsageError, match="warm-up of rnd alone takes 256"):
        Trainer(small_config("rnd", total_steps=256))
