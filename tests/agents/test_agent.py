"""An agent of a run directory: it acts as the trainer's policy would, and needs nothing that trains."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
import torch

import rle
from rle.errors import UsageError
from rle.explore.mixture import latent_strategy
from rle.runs.directory import RunDirectory
from rle.runs.train import train_config
from rle.runs.trainer import Trainer
from tests.builders import small_config
from tests.runs.test_images import atari_config

TASKS = {
    "rooms": small_config("rle", total_steps=256),
    "pole": small_config("rle", "gym/CartPole-v1", total_steps=256),
    "pendulum": small_config("none", "gym/Pendulum-v1", total_steps=256),
    "mixture": small_config("rle+rnd", total_steps=512, rle__condition_on_bonus=True),
    "noisy": small_config("noisy", total_steps=256, noisy__initial_std=3.0),
    "random": small_config("random", "gym/Pendulum-v1", total_steps=256),
}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, RunDirectory]:
    folder = tmp_path_factory.mktemp("agents")
    return {name: train_config(config, folder / name, quiet=True) for name, config in TASKS.items()}


def source(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def trainer_of(run: RunDirectory) -> Trainer:
    """What trained the run, as it stood at the end."""
    trainer = Trainer(run.config())
    trainer.load_state_dict(run.load_checkpoint())
    return trainer


@pytest.mark.parametrize("name", ["rooms", "pole", "mixture"])
def test_it_acts_as_the_trainers_network_says(runs: dict[str, RunDirectory], name: str) -> None:
    agent, trainer = rle.load(runs[name].path), trainer_of(runs[name])
    raw = torch.randn(64, *agent.spec.observation_shape)
    z = agent.sample_latents(64, source())
    shown = raw
    if name == "pole":
        # By hand: the task's own statistics, and the clip.
        moments = trainer.task.normaliser.moments  # type: ignore[attr-defined]
        shown = ((raw - moments.mean) / (moments.std + 1e-8)).clamp(-10, 10).float()
        assert not torch.allclose(raw, shown)
    follower = latent_strategy(trainer.strategy)
    assert follower is not None
    shown_of_z = follower.shown
    assert (shown_of_z < 1) == (name == "pole")  # where the task pays at every step
    # Behind z, the previous bonus: none yet.
    latent = torch.cat([z, torch.zeros(64, trainer.strategy.input_size - z.shape[1])], -1)
    with torch.no_grad():
        logits = trainer.network.policy(shown, latent * shown_of_z)
    assert torch.equal(agent.act(raw, z, greedy=True), logits.argmax(-1))
    # Sampled: as often as the softmax says.
    many = agent.act(raw[:1].expand(20_000, -1), z[0], generator=source())
    found = torch.bincount(many, minlength=logits.shape[-1]) / 20_000
    assert torch.allclose(found, logits[0].softmax(-1), atol=0.015)


@pytest.mark.parametrize("name", TASKS)
def test_one_or_many_arrays_or_tensors(runs: dict[str, RunDirectory], name: str) -> None:
    agent = rle.load(runs[name].path)
    many = np.random.default_rng(0).normal(size=(5, *agent.spec.observation_shape))
    z = agent.sample_latents(5, source(1))
    actions = agent.act(many, z.numpy(), generator=source(2))
    assert isinstance(actions, np.ndarray)
    assert actions.dtype == (np.float32 if name in ("pendulum", "random") else np.int64)
    as_tensors = agent.act(torch.from_numpy(many), z, generator=source(2))
    assert isinstance(as_tensors, torch.Tensor)
    assert np.array_equal(actions, as_tensors.numpy())
    # As some environments hand them out: an array that cannot be written to.
    many.flags.writeable = False
    assert np.array_equal(agent.act(many, z.numpy(), generator=source(2)), actions)
    one = agent.act(many[0], z[0], greedy=True)
    assert one.shape == actions.shape[1:]
    if name != "random":
        assert np.allclose(one, agent.act(many, z, greedy=True)[0], atol=1e-6)
    assert agent.act(torch.from_numpy(many[0].copy())).shape == one.shape
    backwards = agent.act(many[::-1], z, greedy=True)
    if name != "random":
        expected = agent.act(many[::-1].copy(), z, greedy=True)
        assert np.array_equal(backwards, expected)


def test_a_loop_of_gymnasiums(runs: dict[str, RunDirectory]) -> None:
    agent = rle.load(runs["pole"].path)
    environment = gymnasium.make("CartPole-v1")
    observation, _ = environment.reset(seed=0)
    z = agent.sample_latents(1)[0]
    for _ in range(5):
        observation, _, terminated, truncated, _ = environment.step(agent.act(observation, z))
        assert not terminated
        assert not truncated


def test_actions_are_within_the_bounds(runs: dict[str, RunDirectory]) -> None:
    for name in ("pendulum", "random"):
        agent = rle.load(runs[name].path)
        actions = agent.act(np.random.default_rng(0).normal(size=(2000, 3)), generator=source())
        # Pendulum's torque; a deviation of about 1 leaves the bounds in one of twenty samples.
        assert np.abs(actions).max() <= 2.0
        assert (name == "pendulum") == bool((np.abs(actions) == 2.0).any())


def test_random_actions_are_uniform_whatever_is_asked(runs: dict[str, RunDirectory]) -> None:
    agent = rle.load(runs["random"].path)
    actions = agent.act(np.zeros((4000, 3)), greedy=True, generator=source(3))
    # Uniform on [-2, 2] has the deviation 4 / sqrt(12).
    assert actions.std() == pytest.approx(4 / 12**0.5, abs=0.03)
    again = agent.act(np.zeros((4000, 3)), generator=source(3))
    assert np.array_equal(actions, again)


def test_a_generator_repeats_and_the_agents_own_goes_on(runs: dict[str, RunDirectory]) -> None:
    agent = rle.load(runs["rooms"].path)
    raw = np.zeros((200, 2))
    first = agent.act(raw, generator=source(5))
    assert np.array_equal(first, agent.act(raw, generator=source(5)))
    assert not np.array_equal(agent.act(raw), agent.act(raw))
    again = rle.load(runs["rooms"].path)
    own = again.act(raw)
    assert np.array_equal(own, rle.load(runs["rooms"].path).act(raw))


def test_greedy_silences_noise_and_sampling_draws_it_again(runs: dict[str, RunDirectory]) -> None:
    agent = rle.load(runs["noisy"].path)
    layer = agent.network.policy_head
    raw = torch.randn(50, 2, generator=source())
    agent.act(raw, greedy=True)
    assert not layer.weight_noise.any()
    silent = agent.act(raw, greedy=True)
    agent.act(raw)
    noise = layer.weight_noise.clone()
    assert noise.any()
    agent.act(raw)
    assert torch.equal(layer.weight_noise, noise)
    assert torch.equal(agent.act(raw, greedy=True), silent)
    # After it was watched playing, too.
    agent.watch(greedy=False)
    agent.strategy.begin_rollout(agent.network)
    assert torch.equal(agent.act(raw, greedy=True), silent)


def test_latents_follow_the_distribution_of_the_run(runs: dict[str, RunDirectory]) -> None:
    agent = rle.load(runs["mixture"].path)
    assert agent.latent_dimension == 4
    z = agent.sample_latents(6, source())
    assert z.shape == (6, 4)
    assert torch.allclose(z.norm(dim=-1), torch.ones(6))
    assert torch.equal(z, agent.sample_latents(6, source()))
    assert not torch.equal(agent.sample_latents(6), agent.sample_latents(6))
    without = rle.load(runs["pendulum"].path)
    assert without.latent_dimension == 0
    assert without.sample_latents(3).shape == (3, 0)
    assert without.act(np.zeros((3, 3)), without.sample_latents(3)).shape == (3, 1)


def test_z_changes_what_the_agent_does(runs: dict[str, RunDirectory]) -> None:
    agent = rle.load(runs["rooms"].path)
    with torch.no_grad():
        agent.network.policy_head.weight.mul_(1e4)
    actions = agent.act(np.zeros((64, 2)), agent.sample_latents(64, source()), greedy=True)
    assert len(set(actions.tolist())) > 1
    same = agent.act(np.zeros((64, 2)), agent.sample_latents(1, source())[0], greedy=True)
    assert len(set(same.tolist())) == 1


def test_wrong_shapes_are_one_sentence(runs: dict[str, RunDirectory]) -> None:
    agent = rle.load(runs["rooms"].path)
    with pytest.raises(UsageError, match=r"the shape \(3,\): give one of the shape \(2,\)"):
        agent.act(np.zeros(3))
    with pytest.raises(UsageError, match=r"z has the shape \(3,\): give \(4,\) or \(1, 4\)"):
        agent.act(np.zeros(2), np.zeros(3))


def test_images(tmp_path: Path) -> None:
    config = atari_config("Breakout", "rle", total_steps=64)
    run = train_config(config, tmp_path / "run", quiet=True)
    agent = rle.load(run.path)
    frames = np.random.default_rng(0).integers(0, 256, (3, 4, 84, 84), dtype=np.uint8)
    z = agent.sample_latents(3, source())
    network = Trainer(run.config()).network
    network.load_state_dict(run.load_checkpoint()["learner"]["network"])
    with torch.no_grad():
        # Behind z, the previous bonus: none yet.
        latent = torch.cat([z, torch.zeros(3, 1)], -1)
        expected = network.policy(torch.from_numpy(frames), latent).argmax(-1)
    assert agent.act(frames, z, greedy=True).tolist() == expected.tolist()
    assert agent.act(frames[0], z[0], greedy=True) == expected[0]


def no_environments(*arguments: Any, **options: Any) -> None:
    raise AssertionError("an environment was built")


@pytest.mark.parametrize("name", TASKS)
def test_nothing_else_is_built(
    runs: dict[str, RunDirectory], name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rle.runs.loading.make_task", no_environments)
    monkeypatch.setattr("rle.runs.trainer.Trainer.__init__", no_environments)
    monkeypatch.setattr("rle.learn.adam.Adam.__init__", no_environments)
    monkeypatch.setattr("rle.learn.rollout.Rollout.__init__", no_environments)
    rle.load(runs[name].path)


@pytest.mark.parametrize("name", ["rooms", "pole"])
def test_run_directories_without_a_spec(
    runs: dict[str, RunDirectory], name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Runs of earlier versions: their task is asked instead."""
    recorded = rle.load(runs[name].path)
    monkeypatch.setattr(RunDirectory, "spec", lambda _: None)
    asked = rle.load(runs[name].path)
    assert asked.spec == recorded.spec == trainer_of(runs[name]).task.spec
    raw = np.random.default_rng(0).normal(size=(32, *asked.spec.observation_shape))
    z = asked.sample_latents(32)
    assert np.array_equal(asked.act(raw, z, greedy=True), recorded.act(raw, z, greedy=True))


def test_the_checkpoint_that_is_asked_for(tmp_path: Path) -> None:
    config = small_config("none", total_steps=512, checkpoint_every=256)
    run = train_config(config, tmp_path / "run", quiet=True)
    early, late = rle.load(run.path, 256), rle.load(run.path)
    assert (early.trained_steps, late.trained_steps) == (256, 512)
    expected = run.load_checkpoint(256)["learner"]["network"]["policy_head.weight"]
    assert torch.equal(early.network.policy_head.weight, expected)
    assert not torch.equal(late.network.policy_head.weight, expected)
    with pytest.raises(UsageError, match="no checkpoint at step 5: choose one of 256, 512"):
        rle.load(run.path, 5)


def test_a_device_that_is_not_there(runs: dict[str, RunDirectory]) -> None:
    with pytest.raises(UsageError, match="device 'cuda:7' is not available here"):
        rle.load(runs["rooms"].path, device="cuda:7")


def test_a_checkpoint_of_other_settings_is_one_sentence(tmp_path: Path) -> None:
    run = train_config(small_config("none", total_steps=128), tmp_path / "run", quiet=True)
    values = json.loads((run.path / "config.json").read_text())
    values["network"]["policy_hidden"] = [17]
    (run.path / "config.json").write_text(json.dumps(values))
    (run.path / "manifest.json").unlink()  # which knows that config.json was another
    with (
        pytest.raises(UsageError, match="does not fit"),
        pytest.warns(UserWarning, match=r"manifest\.json is missing"),
    ):
        rle.load(run.path)
