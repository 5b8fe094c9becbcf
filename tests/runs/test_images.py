"""Training on images: memory, what each strategy sees, and every game."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from rle.config import RunConfig
from rle.explore.rnd import RandomNetworkDistillation
from rle.learn.frames import StackedFrames
from rle.presets import preset_config
from rle.runs.train import resume, train_config
from rle.runs.trainer import Trainer
from rle.settings import replace
from rle.tasks.suites.atari import GAMES
from tests.builders import into, trained_an_iteration

METHODS = ("none", "rle", "rnd", "noisy")
SMALL: dict[str, Any] = {
    "num_envs": 4,
    "rollout_steps": 8,
    "total_steps": 128,
    "checkpoint_every": 32,
    "micro_batch": 8,
    "epochs": 1,
    "minibatches": 2,
    "threads": 1,
    "engine_threads": 1,
    "compile": "off",
}


def atari_config(game: str, explore: str, **settings: Any) -> RunConfig:
    config = replace(preset_config(f"atari/{game}", explore), SMALL)
    if "rnd" in explore:
        config = replace(config, {"rnd.warmup_rollouts": 2})
    return replace(config, {name.replace("__", "."): value for name, value in settings.items()})


def trained(game: str, explore: str, **settings: Any) -> Trainer:
    return trained_an_iteration(atari_config(game, explore, **settings))


@pytest.mark.parametrize("explore", [*METHODS, "rle+rnd", "white-noise"])
def test_every_method_trains(explore: str) -> None:
    trained("Breakout", explore)


@pytest.mark.slow
@pytest.mark.parametrize("explore", METHODS)
@pytest.mark.parametrize("game", GAMES)
def test_every_game_trains_with_every_method(game: str, explore: str) -> None:
    trained(game, explore)


@pytest.mark.parametrize("game", ["Defender", "MontezumaRevenge", "Surround"])
def test_some_games_train(game: str) -> None:
    trained(game, "rle")


def test_observations_are_kept_once_and_as_bytes() -> None:
    trainer = trained("Pong", "rle")
    rollout = trainer.rollout
    assert rollout.observation.dtype == torch.uint8
    assert rollout.observation.shape == (9, 4, 4, 84, 84)
    batch, _, _ = trainer.learner.prepare(rollout, trainer.strategy)
    # The batch looks them up in the rollout, in which no frame is kept twice.
    assert batch.observation is rollout.flat_observation()
    assert isinstance(batch.observation, StackedFrames)
    assert batch.observation._used < 2 * (4 + 8) * 4


def test_values_known_from_acting_are_the_networks() -> None:
    trainer = Trainer(atari_config("Pong", "rle"))
    trainer.start()
    trainer.collect()
    rollout, strategy = trainer.rollout, trainer.strategy
    assert rollout.values is not None
    with torch.no_grad():
        again = trainer.network.value(rollout.observation, strategy.network_input(rollout.latent))
    torch.testing.assert_close(rollout.values, again, rtol=1e-4, atol=1e-6)
    trainer.task.close()


def test_rnd_sees_the_newest_frame_alone() -> None:
    trainer = Trainer(atari_config("Pong", "rnd"))
    trainer.start()
    strategy = trainer.strategy
    assert isinstance(strategy, RandomNetworkDistillation)
    first = torch.randint(0, 256, (2, 4, 84, 84), dtype=torch.uint8)
    older = first.clone()
    older[:, :3] = 0
    newer = first.clone()
    newer[:, 3] = 0
    bonus = strategy.bonus(into(first))
    torch.testing.assert_close(strategy.bonus(into(older)), bonus)
    assert not torch.allclose(strategy.bonus(into(newer)), bonus)
    trainer.task.close()


def test_feature_network_follows_the_whole_backbone() -> None:
    trainer = Trainer(atari_config("Pong", "rle"))
    trainer.start()
    features = trainer.strategy.features  # type: ignore[attr-defined]
    before = [p.clone() for p in features.body.parameters()]
    value = [p.clone() for p in trainer.network.value_body.parameters()]
    projection = features.projection.weight.clone()
    trainer.strategy.after_minibatch(trainer.network)
    for now, was, target in zip(features.body.parameters(), before, value, strict=True):
        torch.testing.assert_close(now, was + 0.005 * (target - was))
    assert torch.equal(features.projection.weight, projection)
    trainer.task.close()


def test_a_run_resumes_with_new_episodes_and_the_same_agent(tmp_path: Any) -> None:
    config = atari_config("Pong", "rle")
    run = train_config(config, tmp_path / "run", quiet=True)
    state = run.load_checkpoint(64)
    again = Trainer(config)
    with pytest.warns(UserWarning, match="new episodes"):
        again.load_state_dict(state)
    assert again.iteration == 1
    torch.testing.assert_close(
        again.learner.optimiser.flat,
        torch.cat([p.reshape(-1) for p in _parameters(state, again)]),
    )
    again.iterate()
    again.task.close()
    assert resume(run.path, quiet=True).finished() is not None


def _parameters(state: dict[str, Any], trainer: Trainer) -> list[torch.Tensor]:
    saved = state["learner"]["network"]
    return [saved[name] for name, _ in trainer.network.named_parameters()]


def test_bonuses_paid_on_the_way_are_those_computed_afterwards() -> None:
    """The policy sees F of the previous step, so that φ has already run on every state."""
    trainer = Trainer(atari_config("Breakout", "rle"))
    trainer.start()
    for _ in range(4):  # long enough for a life to be lost
        trainer.collect()
    strategy, rollout = trainer.strategy, trainer.rollout
    paid = strategy.paid()
    assert paid is not None
    afterwards = strategy.bonus(rollout.transitions(torch.arange(rollout.reward.numel())))
    torch.testing.assert_close(paid.flatten(0, 1), afterwards, rtol=1e-4, atol=1e-5)
    trainer.task.close()


def test_precision_is_settled_and_recorded(tmp_path: Any) -> None:
    run = train_config(atari_config("Pong", "none", total_steps=32), tmp_path / "run", quiet=True)
    assert run.config().machine.precision in ("float32", "bfloat16")
