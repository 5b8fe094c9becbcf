"""Uniformly random actions as a strategy."""

from pathlib import Path

import pytest
import torch

from rle.errors import UsageError
from rle.explore.registry import check_strategy_name
from rle.randomness import generator
from rle.runs.evaluate import evaluate, trajectories
from rle.runs.loading import load
from rle.runs.train import train_config
from rle.runs.trainer import Trainer
from rle.tasks.base import random_actions
from tests.builders import small_config


def after_one_iteration(task: str = "fourroom", **settings: object) -> Trainer:
    trainer = Trainer(small_config("random", task=task, **settings))
    trainer.start()
    trainer.iterate()
    return trainer


def test_actions_are_uniform_whatever_the_policy_prefers() -> None:
    trainer = Trainer(small_config("random", task="fourroom", num_envs=64, rollout_steps=64))
    trainer.start()
    with torch.no_grad():
        trainer.network.policy_head.bias.copy_(torch.tensor([50.0, 0.0, 0.0, 0.0]))
    trainer.iterate()
    counts = torch.bincount(trainer.rollout.action.flatten(), minlength=4)
    # 4096 draws, 1024 expected of each; the deviation of a count is sqrt(4096 * 1/4 * 3/4) = 28.
    assert int((counts - 1024).abs().max()) < 4 * 28


def test_a_rollout_takes_what_was_drawn_once_and_in_order() -> None:
    """In blocks of eight steps, of which the last is shorter."""
    config = small_config("random", task="fourroom", rollout_steps=20, seed=4)
    trainer = Trainer(config)
    trainer.start()
    source = generator(4, "random actions")
    for _ in range(2):
        trainer.collect()
        shape = trainer.rollout.action.shape
        expected = random_actions(trainer.task.spec.action_space, shape.numel(), source)
        assert torch.equal(trainer.rollout.action, expected.view(shape))


def test_continuous_actions_fill_the_box() -> None:
    # MountainCarContinuous: one force in [-1, 1].
    trainer = after_one_iteration("gym/MountainCarContinuous-v0", rollout_steps=64)
    action = trainer.rollout.action
    assert float(action.abs().max()) <= 1.0
    # Of a uniform distribution on [-1, 1]: mean 0, deviation 1/sqrt(3) = 0.577; 512 draws.
    assert abs(float(action.mean())) < 4 * 0.577 / 512**0.5
    assert abs(float(action.std()) - 0.577) < 0.06


def test_nothing_is_learned() -> None:
    trainer = Trainer(small_config("random", task="fourroom"))
    trainer.start()
    before = trainer.learner.optimiser.flat.clone()
    metrics, _ = trainer.iterate()
    assert torch.equal(before, trainer.learner.optimiser.flat)
    assert "policy_loss" not in metrics
    assert metrics["coverage"] > 0


def test_what_is_played_is_random_too(tmp_path: Path) -> None:
    run = train_config(small_config("random", task="fourroom", time_limit=20), tmp_path / "run")
    first, second = (evaluate(run.path, episodes=4, seed=seed) for seed in (0, 0))
    assert first == second
    agent = load(run)
    with torch.no_grad():
        agent.network.policy_head.bias.copy_(torch.tensor([50.0, 0.0, 0.0, 0.0]))
    _, seen = trajectories(agent, None, steps=40, count=5)
    assert seen.shape == (41, 5, 2)
    # A policy that always goes one way would trace five times the same line.
    assert len({tuple(path.flatten().tolist()) for path in seen.unbind(1)}) == 5


def test_it_cannot_be_mixed() -> None:
    with pytest.raises(UsageError, match="other than none and random"):
        check_strategy_name("rle+random")
