"""Training on images of Gymnasium environments: any size and layout, resumed, and played by an agent."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
import torch

import rle
from rle.cli import main
from rle.config import RunConfig
from rle.errors import UsageError
from rle.explore.rnd import RandomNetworkDistillation
from rle.presets import preset_config
from rle.runs.train import resume, train_config
from rle.runs.trainer import Trainer
from rle.settings import replace
from rle.tasks.gym import VectorTask
from tests.builders import into
from tests.probes.gymnasium_environments import Filming
from tests.runs.test_resume import assert_same_tree, stop_after

FILMING = "gym/tests.probes.gymnasium_environments:Filming"
SMALL: dict[str, Any] = {
    "num_envs": 2,
    "rollout_steps": 4,
    "total_steps": 32,
    "checkpoint_every": 8,
    "minibatches": 2,
    "epochs": 1,
    "embedding": (16, 8),
    "threads": 1,
    "compile": "off",
    "precision": "float32",
}


def small(explore: str = "rle", **settings: Any) -> RunConfig:
    """A run of a few iterations; the warm-up of RLE is the first of four rollouts."""
    config = replace(preset_config(FILMING, explore), SMALL)
    return replace(config, {name.replace("__", "."): value for name, value in settings.items()})


def trained(config: RunConfig) -> Trainer:
    """A trainer after two iterations that changed its parameters and met no NaN."""
    trainer = Trainer(config)
    trainer.start()
    for _ in range(2):
        before = trainer.learner.optimiser.flat.clone()
        metrics, _ = trainer.iterate()
        assert all(value == value for value in metrics.values())  # no NaN
        assert not torch.equal(before, trainer.learner.optimiser.flat)
    trainer.task.close()
    return trainer


@pytest.mark.parametrize(
    ("size", "layout"),
    [
        ((1, 1), "HW"),
        ((7, 7), "HWC"),
        ((7, 7), "CHW"),
        ((16, 16), "HWC"),
        ((32, 32), "CHW"),
        ((32, 20), "HW"),
        ((64, 64), "HWC"),
        ((96, 96), "HWC"),
    ],
)
def test_every_size_and_layout_trains(size: tuple[int, int], layout: str) -> None:
    trainer = trained(small(env_kwargs={"size": size, "layout": layout}))
    channels = 1 if layout == "HW" else 3
    assert trainer.rollout.observation.dtype == torch.uint8
    assert trainer.rollout.observation.shape == (5, 2, channels, *size)


@pytest.mark.parametrize("explore", ["none", "rnd", "noisy", "rle+rnd", "white-noise"])
def test_every_method_trains(explore: str) -> None:
    settings = {"rnd__warmup_rollouts": 1} if "rnd" in explore else {}
    trained(small(explore, frame_stack=2, total_steps=64, **settings))


def test_rnd_sees_the_newest_frame_alone() -> None:
    trainer = Trainer(small("rnd", rnd__warmup_rollouts=1, frame_stack=3))
    trainer.start()
    strategy = trainer.strategy
    assert isinstance(strategy, RandomNetworkDistillation)
    first = torch.randint(0, 256, (2, 9, 5, 6), dtype=torch.uint8)
    older, newer = first.clone(), first.clone()
    older[:, :6] = 0
    newer[:, 6:] = 0
    bonus = strategy.bonus(into(first))
    torch.testing.assert_close(strategy.bonus(into(older)), bonus)
    assert not torch.allclose(strategy.bonus(into(newer)), bonus)


@pytest.mark.parametrize("mode", ["next-step", "same-step"])
def test_a_run_with_stacked_frames_resumes_bit_for_bit(mode: str, tmp_path: Path) -> None:
    config = small(autoreset=mode, frame_stack=3, grayscale=True, resize=(4, 3), total_steps=64)
    whole = train_config(config, tmp_path / "whole", quiet=True)
    stop_after(config, tmp_path / "stopped", 3)
    resumed = resume(tmp_path / "stopped", quiet=True)
    assert_same_tree(whole.load_checkpoint(), resumed.load_checkpoint())


def test_a_vector_that_is_handed_over_trains_and_goes_on(tmp_path: Path) -> None:
    def make() -> gymnasium.vector.VectorEnv:
        return gymnasium.vector.SyncVectorEnv([Filming] * 2)

    given = SMALL | {"frame_stack": 2, "total_steps": 24}
    run = rle.train(make(), "none", out=tmp_path / "run", quiet=True, **given)
    assert rle.eval(run.path, 2, env=make()).lengths
    state = run.load_checkpoint(16)
    config = run.config()
    again = VectorTask("gym/<SyncVectorEnv>", make(), "cpu", config.environment)
    trainer = Trainer(config, again)
    with pytest.warns(UserWarning, match="new episodes"):
        trainer.load_state_dict(state)
    trainer.iterate()


@pytest.mark.parametrize("frame_stack", [1, 3])
def test_an_agent_takes_images_as_the_environment_gives_them(
    frame_stack: int, tmp_path: Path
) -> None:
    """With several frames, as Gymnasium's FrameStackObservation gives them."""
    config = small(frame_stack=frame_stack, grayscale=True, resize=(4, 3))
    run = train_config(config, tmp_path / "run", quiet=True)
    agent = rle.load(run.path)
    task = Trainer(config).task
    seen = task.reset(5)
    environments: list[gymnasium.Env] = [Filming(), Filming()]
    if frame_stack > 1:
        environments = [
            gymnasium.wrappers.FrameStackObservation(environment, frame_stack)
            for environment in environments
        ]
    given = np.stack(
        [environment.reset(seed=5 + i)[0] for i, environment in enumerate(environments)]
    )
    z = agent.sample_latents(2)
    steps = 0
    while steps < 6:
        assert torch.equal(agent._batch_of(torch.from_numpy(given))[0], seen)
        actions = agent.act(given, z, generator=torch.Generator().manual_seed(steps))
        single = agent.act(given[0], z[0], greedy=True)
        assert single == agent.act(given, z, greedy=True)[0]
        outcomes = [e.step(a) for e, a in zip(environments, actions, strict=True)]
        if any(outcome[2] for outcome in outcomes):
            break
        given = np.stack([outcome[0] for outcome in outcomes])
        seen = task.step(torch.from_numpy(actions)).observation
        steps += 1
    assert steps > 0
    with pytest.raises(UsageError, match="the observation has the shape"):
        agent.act(seen)


def test_normalisation_is_the_presets_and_passes_images_by(tmp_path: Path) -> None:
    assert small().environment.normalise_observations
    run = train_config(small(), tmp_path / "run", quiet=True)
    assert rle.load(run.path).normaliser is None
    with pytest.raises(UsageError, match="normalise-observations would do nothing: it is for vec"):
        train_config(small(), tmp_path / "other", given=["normalise_observations"])


def test_settings_of_images_come_from_the_command_line(tmp_path: Path) -> None:
    settings = "--frame-stack 2 --grayscale True --resize 4 3 --embedding 8 8 --num-envs 2"
    size = "--rollout-steps 4 --total-steps 16 --minibatches 2 --compile off"
    out = str(tmp_path / "run")
    assert main(["train", FILMING, *settings.split(), *size.split(), "--out", out]) == 0
    assert rle.load(out).spec.observation_shape == (2, 4, 3)
    assert rle.eval(out, 2).lengths
