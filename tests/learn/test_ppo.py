"""The learner as a whole: batching, debug variables, details of continuous actions."""

import pytest
import torch

from rle.learn.batch import Batch, Everyone
from rle.runs.trainer import Trainer
from tests.builders import small_config


def only(batch: Batch) -> Everyone:
    """Of a single rank's transitions, which are all there are."""
    return Everyone(batch.advantage, batch.mask)


def prepared(explore: str, **settings: object):
    trainer = Trainer(small_config(explore, **settings))
    trainer.start()
    trainer.collect()
    batch, _, metrics = trainer.learner.prepare(trainer.rollout, trainer.strategy)
    return trainer, batch, metrics


def test_every_epoch_uses_every_transition_once() -> None:
    trainer, batch, _ = prepared("none", epochs=3, minibatches=4)
    seen = []
    gradients = trainer.learner._gradients

    def spy(batch, everyone, index, real, rollout):
        seen.append(index.clone())
        return gradients(batch, everyone, index, real, rollout)

    trainer.learner._gradients = spy
    trainer.learner.update(batch, only(batch), trainer.rollout, trainer.strategy)
    assert [len(index) for index in seen] == [32] * 12
    epochs = [torch.cat(seen[start : start + 4]) for start in (0, 4, 8)]
    for order in epochs:
        assert order.sort().values.tolist() == list(range(128))
    assert epochs[0].tolist() != epochs[1].tolist()


def test_reports_the_variables_people_debug_with() -> None:
    trainer = Trainer(small_config("rle"))
    trainer.start()
    metrics, _ = trainer.iterate()
    for name in (
        "policy_loss",
        "value_loss_task",
        "value_loss_rle",
        "entropy",
        "approximate_kl",
        "clip_fraction",
        "gradient_norm",
        "explained_variance_rle",
        "bonus_rle_mean",
        "bonus_rle_std",
        "bonus_rle_min",
        "bonus_rle_max",
        "advantage_share_task",
        "advantage_share_rle",
    ):
        assert name in metrics


def test_explained_variance_by_hand() -> None:
    """1 - Var(return - value) / Var(return), per head."""
    _, batch, metrics = prepared("rle")
    for head, name in enumerate(("task", "rle")):
        returns, values = batch.returns[:, head].double(), batch.values[:, head].double()
        expected = 1 - float((returns - values).var() / returns.var())
        assert metrics[f"explained_variance_{name}"] == pytest.approx(expected, rel=1e-3)


def test_advantages_of_the_streams_add_up_with_their_coefficients() -> None:
    _, batch, _ = prepared("rle", rle__coefficient=0.25, task_coefficient=2.0)
    per_stream = batch.returns - batch.values
    expected = 2.0 * per_stream[:, 0] + 0.25 * per_stream[:, 1]
    torch.testing.assert_close(batch.advantage, expected, atol=1e-5, rtol=1e-4)


def test_task_reward_can_be_switched_off() -> None:
    _, batch, metrics = prepared("rle", task_coefficient=0.0)
    assert metrics["advantage_share_task"] == 0.0
    bonus = (batch.returns - batch.values)[:, 1]
    torch.testing.assert_close(batch.advantage, 0.1 * bonus, atol=1e-6, rtol=1e-4)


def test_log_std_is_one_learned_vector() -> None:
    trainer = Trainer(small_config("none", task="gym/Pendulum-v1"))
    trainer.start()
    assert trainer.network.log_std.detach().tolist() == [0.0]
    outputs = trainer.network.policy(torch.randn(5, 3), None)
    assert bool((outputs[:, 1] == 0).all())
    trainer.iterate()
    assert trainer.network.log_std.detach().tolist() != [0.0]


def test_first_actions_have_the_deviation_asked_for() -> None:
    config = small_config("none", task="gym/Pendulum-v1", initial_action_std=0.25)
    trainer = Trainer(config)
    output = trainer.network.policy(torch.zeros(20_000, 3), None)
    noise = trainer.distribution.draw_noise((20_000,), torch.Generator().manual_seed(0))
    # The standard error of a deviation from 20,000 draws is 0.5 %.
    assert float(trainer.distribution.sample(output.detach(), noise).std()) == pytest.approx(
        0.25, rel=0.02
    )


def test_clips_the_scaled_task_reward() -> None:
    settings = {"task": "gym/Pendulum-v1", "scale_reward": False, "gae_lambda": 0.0}
    clipped, _, _ = prepared("none", **settings, reward_clip=0.5)
    rollout = clipped.rollout
    batch, _, _ = clipped.learner.prepare(rollout, clipped.strategy)
    with torch.no_grad():
        next_value = clipped.network.value(rollout.next_observation(), None).flatten(0, 1)
    # With λ = 0 and no end of an episode, reward = return - γ V(next).
    reward = (batch.returns - 0.99 * next_value)[:, 0]
    unended = ~(rollout.terminated | rollout.truncated).flatten()
    assert float(rollout.reward.min()) < -0.5
    assert float(reward[unended].min()) == pytest.approx(-0.5, abs=1e-4)


def test_reward_scale_multiplies_the_task_reward_and_leaves_scores_alone() -> None:
    settings = {"task": "gym/Pendulum-v1", "scale_reward": False, "gae_lambda": 0.0}
    trainer, batch, _ = prepared("none", **settings, reward_scale=0.01)
    rollout = trainer.rollout
    with torch.no_grad():
        next_value = trainer.network.value(rollout.next_observation(), None).flatten(0, 1)
    reward = (batch.returns - 0.99 * next_value)[:, 0]
    unended = ~(rollout.terminated | rollout.truncated).flatten()
    expected = 0.01 * rollout.reward.flatten()
    torch.testing.assert_close(reward[unended], expected[unended], atol=1e-5, rtol=1e-4)
    torch.testing.assert_close(rollout.score, rollout.reward)


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("explore", ["rle", "rnd", "rle+rnd"])
def test_micro_batches_leave_the_minibatch_as_it_is(explore: str, masked: bool) -> None:
    """Cut into parts of uneven size, a minibatch has the same gradient, statistics and bonuses."""
    results = []
    for micro_batch in (None, 7):
        trainer, batch, metrics = prepared(explore, micro_batch=micro_batch, time_limit=9)
        if masked:
            batch = batch._replace(mask=torch.arange(len(batch.advantage)) % 3 > 0)
        index = torch.arange(0, 64, 2)
        gradients = trainer.learner._gradients
        rows = [torch.arange(20) for _ in trainer.strategy.trained()]
        gradients._rows_of_auxiliaries = lambda real, size, rows=rows: rows
        results.append((*gradients(batch, only(batch), index, index, trainer.rollout), metrics))
    (gradient, statistics, metrics), (in_parts, other_statistics, other_metrics) = results
    torch.testing.assert_close(gradient, in_parts, rtol=1e-4, atol=1e-7)
    torch.testing.assert_close(statistics, other_statistics, rtol=1e-4, atol=1e-6)
    assert metrics == pytest.approx(other_metrics, rel=1e-4, abs=1e-6)
