"""Training on the control tasks: every strategy, exact statistics, resuming, and the peer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from rle.config import RunConfig
from rle.presets import preset_config
from rle.runs.contenders import OurContender
from rle.runs.evaluate import evaluate
from rle.runs.peers.stable_baselines import StableBaselinesContender
from rle.runs.train import resume, train_config
from rle.runs.trainer import Trainer
from rle.settings import replace
from rle.tasks.normalise import NormalisedTask
from tests.builders import trained_an_iteration

SMALL: dict[str, Any] = {
    "num_envs": 4,
    "rollout_steps": 8,
    "minibatches": 2,
    "epochs": 2,
    "total_steps": 128,
    "checkpoint_every": 32,
    "engine_threads": 1,
    "threads": 1,
    "compile": "off",
}


def control_config(
    explore: str, name: str = "Ant", preset: str | None = None, **settings: Any
) -> RunConfig:
    config = replace(preset_config(f"control/{name}", explore, preset), SMALL)
    if "rnd" in explore:
        config = replace(config, {"rnd.warmup_rollouts": 2})
    return replace(config, {key.replace("__", "."): value for key, value in settings.items()})


@pytest.mark.parametrize("preset", ["paper", "released", "desktop"])
@pytest.mark.parametrize("explore", ["none", "rle", "rnd", "noisy", "white-noise"])
def test_every_method_trains(explore: str, preset: str) -> None:
    trained_an_iteration(control_config(explore, preset=preset))


def test_features_follow_the_value_backbone() -> None:
    following = {"value_backbone": 1, "rle__feature_hidden": None, "rle__feature_update_rate": 1.0}
    trainer = Trainer(control_config("rle", **following))
    trainer.start()
    trainer.iterate()
    theirs = trainer.network.value_body.parameters()
    for mine, other in zip(trainer.strategy.features.body.parameters(), theirs, strict=True):  # type: ignore[attr-defined]
        torch.testing.assert_close(mine, other)
    trainer.task.close()


def test_without_a_bonus_rle_is_ppo_on_the_same_networks() -> None:
    agents = []
    for explore, changes in (("none", {}), ("rle", {"rle__coefficient": 0.0})):
        same = {"value_hidden": (64, 64), "value_backbone": 0}
        trainer = Trainer(control_config(explore, "BallBalance", **same, **changes))
        trainer.start()
        trainer.iterate()
        agents.append(trainer.learner.optimiser.flat)
    assert torch.equal(*agents)


def test_a_resumed_run_abandons_the_episodes_that_are_gone(tmp_path: Path) -> None:
    config = control_config("rle", time_limit=50)
    run = train_config(config, tmp_path / "run", quiet=True)
    assert evaluate(run.path, episodes=4).lengths
    state = run.load_checkpoint(64)
    again = Trainer(config)
    with pytest.warns(UserWarning, match="new episodes"):
        again.load_state_dict(state)
    assert isinstance(again.task, NormalisedTask)
    assert again.task.restarted
    # The statistics of the observations went along.
    saved = state["task"]["moments"]
    assert torch.equal(again.task.state_dict()["moments"]["mean"], saved["mean"])
    again.iterate()
    again.task.close()
    assert resume(run.path, quiet=True).finished() is not None


@pytest.mark.parametrize("name", ["Ant", "ShadowHand", "BallBalance"])
def test_the_peer_plays_the_same_task_with_the_same_sizes(name: str) -> None:
    config = control_config("none", name)
    contender = StableBaselinesContender(config, warm_up=1)
    ours = Trainer(config)
    agent = contender._agent
    assert agent.observation_space.shape == ours.task.spec.observation_shape
    assert agent.n_steps * agent.n_envs == config.batch_size
    assert agent.batch_size == config.batch_size // config.learner.minibatches
    hidden = [layer.out_features for layer in agent.policy.mlp_extractor.policy_net[::2]]
    assert tuple(hidden) == config.network.policy_hidden
    torch.testing.assert_close(agent.policy.log_std.exp().mean().item(), 0.37, atol=0.01, rtol=0)
    assert contender.run(0.001).steps >= config.batch_size
    ours.task.close()


def test_the_peer_counts_episodes_and_tells_time_limits_from_ends() -> None:
    agent = StableBaselinesContender(
        control_config("none", "Cartpole", time_limit=5), warm_up=2
    )._agent
    # EnvPool's reset is a call of its own, which the peer takes for a sixth step.
    assert {episode["l"] for episode in agent.ep_info_buffer} == {5, 6}
    environment = agent.get_env()
    environment.reset()
    for _ in range(5):
        _, _, done, infos = environment.step(np.zeros((environment.num_envs, 1), np.float32))
    assert done.all()
    assert all(info["TimeLimit.truncated"] for info in infos)


def test_our_rounds_tell_the_environments_share() -> None:
    measured = OurContender(control_config("rle"), warm_up=1).run(0.001)
    assert {"environment", "acting", "learning", "bonus", "rest"} == set(measured.shares)
    assert all(seconds > 0 for seconds in measured.shares.values())


@pytest.mark.slow
def test_compiled_and_plain_agree() -> None:
    parameters = []
    for compile in ("off", "on"):
        trainer = Trainer(control_config("rle", "BallBalance", compile=compile, time_limit=5))
        trainer.start()
        trainer.iterate()
        trainer.iterate()
        parameters.append(trainer.learner.optimiser.flat)
    torch.testing.assert_close(*parameters, atol=1e-5, rtol=1e-4)
