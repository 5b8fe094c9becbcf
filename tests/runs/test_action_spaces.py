"""Agents that choose several things at once, and agents that see images and choose numbers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from rle.explore.registry import strategy_names
from rle.nets.noisy import NoisyLinear
from rle.presets import preset_config
from rle.runs.train import resume, train_config
from rle.runs.trainer import Trainer
from rle.settings import replace
from rle.tasks.base import Continuous, MultiDiscrete, Task
from tests.builders import SMALL_STRATEGY, small_config
from tests.probes import gymnasium_environments
from tests.probes.environments import Brightness, CombinationReward
from tests.runs.test_probes import trained
from tests.runs.test_resume import assert_same_tree, stop_after

gymnasium_environments.register()

STRATEGIES = [*strategy_names(), "rle+rnd", "rle+noisy"]
SPACES = {
    "numbers": Continuous((-1.0, -1.0), (1.0, 0.3)),
    "choices": MultiDiscrete((2, 3)),
}


@pytest.fixture(autouse=True)
def same_threads() -> Iterator[None]:
    threads = torch.get_num_threads()
    yield
    torch.set_num_threads(threads)


@torch.no_grad()
def greedy(trainer: Trainer, observation: Tensor) -> list[list[float]]:
    return trainer.distribution.mode(trainer.network.policy(observation, None)).tolist()


@pytest.mark.parametrize("sizes", [(2, 3), (2, 2, 2)])
def test_finds_the_combination_its_observation_asks_for(sizes: tuple[int, ...]) -> None:
    trainer = trained(CombinationReward(32, sizes), "none", 60, threads=1)
    last = [size - 1 for size in sizes]
    assert greedy(trainer, torch.tensor([[-1.0], [1.0]])) == [[0] * len(sizes), last]
    assert float(trainer.rollout.reward.mean()) > 0.9


def on_images(task: Task, explore: str, **settings: Any) -> Trainer:
    """An agent of the Atari tables on tiny images."""
    config = replace(
        preset_config("atari/Pong", explore),
        {
            "num_envs": task.spec.num_envs,
            "rollout_steps": 8,
            "minibatches": 2,
            "epochs": 2,
            "embedding": (16,),
            "micro_batch": None,
            "precision": "float32",
            "compile": "off",
            "threads": 1,
            **(SMALL_STRATEGY["rnd"] if "rnd" in explore else {}),
            **settings,
        },
    )
    trainer = Trainer(config, task)
    trainer.start()
    return trainer


PICTURES = torch.tensor([0, 255], dtype=torch.uint8)[:, None, None, None].expand(2, 1, 36, 36)


def test_sees_images_and_chooses_numbers() -> None:
    space = Continuous((-1.0, -1.0), (1.0, 1.0))
    settings = {"learning_rate": 6e-3, "scale_reward": False, "initial_action_std": 0.3}
    trainer = on_images(Brightness(16, space), "none", **settings)
    for _ in range(30):
        trainer.iterate()
    black, white = greedy(trainer, PICTURES)
    assert black == pytest.approx([-0.5, -0.5], abs=0.15)
    assert white == pytest.approx([0.5, 0.5], abs=0.15)
    log_std = trainer.network.log_std
    assert log_std is not None
    # Whoever knows where to go has no use for noise.
    assert float(log_std.detach().exp().max()) < 0.3


def test_sees_images_and_makes_several_choices() -> None:
    settings = {"learning_rate": 6e-3, "scale_reward": False}
    trainer = on_images(Brightness(16, MultiDiscrete((2, 3))), "none", **settings)
    for _ in range(20):
        trainer.iterate()
    assert greedy(trainer, PICTURES) == [[0, 0], [1, 2]]


@pytest.mark.parametrize("explore", STRATEGIES)
@pytest.mark.parametrize("name", SPACES)
def test_every_strategy_trains_on_images_with_other_actions(name: str, explore: str) -> None:
    trainer = on_images(Brightness(4, SPACES[name]), explore)
    before = trainer.learner.optimiser.flat.clone()
    for _ in range(2):
        metrics, _ = trainer.iterate()
        assert all(value == value for value in metrics.values())  # no NaN
    assert torch.equal(before, trainer.learner.optimiser.flat) == (explore == "random")
    if "noisy" in explore:
        # The mean is noisy, as on vectors; what no state changes is a parameter of its own.
        assert isinstance(trainer.network.policy_head, NoisyLinear)
        assert trainer.network.policy_head.out_features == (2 if name == "numbers" else 5)


@pytest.mark.parametrize("explore", STRATEGIES)
def test_every_strategy_trains_on_vectors_with_several_choices(explore: str) -> None:
    task = CombinationReward(8, (2, 3))
    trainer = Trainer(small_config(explore, total_steps=1280, threads=1), task)
    trainer.start()
    for _ in range(2):
        metrics, _ = trainer.iterate()
        assert all(value == value for value in metrics.values())  # no NaN
    assert trainer.rollout.action.shape == (16, 8, 2)
    assert trainer.rollout.action.amax((0, 1)).tolist() == [1, 2]


@pytest.mark.parametrize("env", ["EchoMultiDiscreteTable", "EchoMultiBinaryTable"])
@pytest.mark.parametrize("explore", ["rle", "random"])
def test_runs_resume_exactly(env: str, explore: str, tmp_path: Path) -> None:
    # The episodes of these environments show the actions, and end by the time limit alone.
    config = small_config(explore, f"gym/probe/{env}-v0", time_limit=11, threads=1)
    whole = train_config(config, tmp_path / "whole", quiet=True)
    stop_after(config, tmp_path / "stopped", 3)
    resumed = resume(tmp_path / "stopped", quiet=True)
    assert_same_tree(whole.load_checkpoint(), resumed.load_checkpoint())


def test_a_rollout_with_several_choices_is_one_graph(monkeypatch: pytest.MonkeyPatch) -> None:
    """Traced whole, with its task, as the compiler does it, and run by PyTorch itself: same choices."""

    def traced(function: Any, device: torch.device) -> Any:
        return torch.compile(function, fullgraph=True, backend="eager")

    monkeypatch.setattr("rle.runs.trainer.compiled", traced)
    monkeypatch.setattr("rle.learn.compilation.compiler_available", lambda: True)
    rollouts = []
    for compile in ("off", "on"):
        task = CombinationReward(8, (2, 3))
        task.traceable = True
        task.first_observation = lambda: torch.ones(8, 1)  # type: ignore[method-assign]
        trainer = Trainer(small_config("rle", total_steps=1280, compile=compile, threads=1), task)
        trainer.start()
        trainer.collect()
        rollouts.append(trainer.rollout)
    plain, whole = rollouts
    assert torch.equal(plain.action, whole.action)
    assert len(plain.action.flatten(0, 1).unique(dim=0)) == 6
