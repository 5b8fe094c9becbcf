"""A run that begins with another run's agent: what it takes, what it refuses, what it remembers."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

import rle
from rle.cli import main
from rle.config import RunConfig
from rle.errors import UsageError
from rle.report.read.methods import group_runs
from rle.report.read.records import find_runs, read_run
from rle.runs.directory import INITIAL, RunDirectory
from rle.runs.inheritance import inherit
from rle.runs.loading import load
from rle.runs.origin import find_origin
from rle.runs.train import resume, train_config
from rle.runs.trainer import Trainer
from tests.builders import interrupt_after, small_config
from tests.runs.test_going_on import without_time
from tests.runs.test_images import atari_config
from tests.runs.test_resume import assert_same_tree

CARTPOLE = "gym/CartPole-v1"


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> RunDirectory:
    """RLE and RND on normalised observations; checkpoints at 512 and 1024 steps."""
    config = small_config("rle+rnd", task=CARTPOLE, time_limit=37)
    assert config.environment.normalise_observations
    return train_config(config, tmp_path_factory.mktemp("source") / "run", quiet=True)


def begun(config: RunConfig, source: RunDirectory) -> tuple[Trainer, list[str], list[str]]:
    """A trainer that has taken over, and what it says of that."""
    trainer = Trainer(config)
    taken, fresh = inherit(trainer.agent, load(source), "the source")
    trainer.task.close()
    return trainer, taken, fresh


def network_of(source: RunDirectory) -> dict[str, Tensor]:
    network: dict[str, Tensor] = source.load_checkpoint()["learner"]["network"]
    return network


def test_the_same_strategy_takes_everything_that_was_learned(source: RunDirectory) -> None:
    config = small_config("rle+rnd", CARTPOLE, seed=7, rle__coefficient=0.5, learning_rate=1e-4)
    untouched = Trainer(config).state_dict()
    trainer, taken, fresh = begun(config, source)
    state, theirs = trainer.state_dict(), source.load_checkpoint()
    assert_same_tree(state["learner"]["network"], theirs["learner"]["network"])
    for part, names in (
        ("rle", ("features", "moments")),
        ("rnd", ("predictor", "target", "moments")),
    ):
        for name in names:
            assert_same_tree(state["strategy"][part][name], theirs["strategy"][part][name])
        generator = untouched["strategy"][part]["generator"]
        assert_same_tree(state["strategy"][part]["generator"], generator)
    assert_same_tree(state["task"]["moments"], theirs["task"]["moments"])
    for name in ("optimiser", "scaler", "generator"):
        assert_same_tree(state["learner"][name], untouched["learner"][name])
    assert_same_tree(state["episodes"], untouched["episodes"])
    assert state["iteration"] == 0
    assert taken == [
        "the policy and value networks",
        "features and moments of rle",
        "predictor, target and moments of rnd",
        "the statistics of observations",
    ]
    assert fresh == ["optimiser, reward scaling and environments"]


@pytest.mark.parametrize("fades", [True, False])
def test_as_much_of_z_is_shown_as_the_source_showed(fades: bool, tmp_path: Path) -> None:
    """φ is taken from a source whose z does not fade, too: all of it is shown then."""
    settings = small_config("rle", CARTPOLE, rle__fade=fades)
    faded = train_config(settings, tmp_path / "faded", quiet=True)
    trainer, taken, _ = begun(small_config("rle", CARTPOLE, seed=7), faded)
    assert "features and moments of rle" in taken
    theirs = float(faded.load_checkpoint()["strategy"]["fading"]["shown"]) if fades else 1.0
    assert (theirs < 1) == fades
    assert float(trainer.strategy.shown) == theirs


def test_without_z_the_weights_on_the_observation_are_taken(source: RunDirectory) -> None:
    trainer, taken, fresh = begun(small_config("none", CARTPOLE, seed=7), source)
    own, theirs = trainer.network.state_dict(), network_of(source)
    for body in ("policy_body", "value_body"):
        weight, whole = own[f"{body}.layers.0.weight"], theirs[f"{body}.layers.0.weight"]
        # Four numbers of an observation, then four of z.
        assert (weight.shape, whole.shape) == ((16, 4), (16, 8))
        assert torch.equal(weight, whole[:, :4])
    assert torch.equal(own["value_heads.0.weight"], theirs["value_heads.0.weight"])
    assert torch.equal(own["policy_head.weight"], theirs["policy_head.weight"])
    assert taken == ["the policy and value networks", "the statistics of observations"]
    assert fresh == ["optimiser, reward scaling and environments"]


def test_a_z_of_another_size_starts_fresh(source: RunDirectory) -> None:
    config = small_config("rle", CARTPOLE, seed=7, rle__dimension=3)
    untouched = Trainer(config).network.state_dict()
    trainer, taken, fresh = begun(config, source)
    own, theirs = trainer.network.state_dict(), network_of(source)
    first = "policy_body.layers.0.weight"
    assert torch.equal(own[first][:, :4], theirs[first][:, :4])
    assert torch.equal(own[first][:, 4:], untouched[first][:, 4:])
    assert fresh[:2] == [
        "the weights on what the networks see of the strategy",
        "features and moments of rle",
    ]
    assert "features and moments of rle" not in taken


def test_value_heads_go_by_their_stream(source: RunDirectory) -> None:
    """RND's head is the third of the source, and the second of an agent with RND alone."""
    trainer, taken, _ = begun(small_config("rnd", CARTPOLE, seed=7), source)
    own, theirs = trainer.network.state_dict(), network_of(source)
    assert torch.equal(own["value_heads.1.weight"], theirs["value_heads.2.weight"])
    assert "predictor, target and moments of rnd" in taken


def test_what_the_source_lacks_starts_fresh(tmp_path: Path) -> None:
    plain = train_config(small_config("none"), tmp_path / "plain", quiet=True)
    config = small_config("rle", seed=7)
    untouched = Trainer(config).state_dict()
    trainer, taken, fresh = begun(config, plain)
    own = trainer.network.state_dict()
    assert torch.equal(own["value_heads.0.weight"], network_of(plain)["value_heads.0.weight"])
    head = "value_heads.1.weight"
    assert torch.equal(own[head], untouched["learner"]["network"][head])
    assert_same_tree(trainer.strategy.state_dict(), untouched["strategy"])
    assert taken == ["the policy and value networks"]
    assert fresh == [
        "the value head of rle",
        "the weights on what the networks see of the strategy",
        "features and moments of rle",
        "optimiser, reward scaling and environments",
    ]


def test_inputs_of_the_same_width_but_of_another_strategy_are_not_taken() -> None:
    """The hidden layers are square: only the first layer's columns may be told apart."""
    ours = Trainer(small_config("rle", seed=7, policy_hidden=(16, 16), value_hidden=(16, 16)))
    other = Trainer(small_config("rle", seed=8, policy_hidden=(16, 16), value_hidden=(16, 16)))
    object.__setattr__(other.agent, "config", small_config("none"))  # called by another name
    before = {name: value.clone() for name, value in ours.network.state_dict().items()}
    theirs = other.network.state_dict()
    object.__setattr__(other.agent.config, "network", ours.config.network)
    inherit(ours.agent, other.agent, "the source")
    own = ours.network.state_dict()
    first, second = "policy_body.layers.0.weight", "policy_body.layers.1.weight"
    assert torch.equal(own[first][:, :2], theirs[first][:, :2])
    assert torch.equal(own[first][:, 2:], before[first][:, 2:])
    assert torch.equal(own[second], theirs[second])


def test_images(tmp_path: Path) -> None:
    """There z has an encoder of its own."""
    run = train_config(atari_config("Pong", "rle", total_steps=64), tmp_path / "run", quiet=True)
    trainer, _, fresh = begun(atari_config("Pong", "none", seed=7), run)
    own, theirs = trainer.network.state_dict(), network_of(run)
    assert all(torch.equal(value, theirs[name]) for name, value in own.items())
    assert fresh == ["optimiser, reward scaling and environments"]


@pytest.mark.parametrize(
    ("task", "settings", "sentence"),
    [
        ("fourroom", {}, r"its shape of observations is \(4,\), and \(2,\) in the new run"),
        ("gym/CartPole-v1", {"policy_hidden": (17,)}, r"its policy-hidden is \(16,\), and \(17,\)"),
        ("gym/CartPole-v1", {"activation": "elu"}, "its activation is tanh, and elu"),
        (
            "gym/CartPole-v1",
            {"normalise_observations": False},
            "its normalise-observations is True, and False",
        ),
    ],
)
def test_what_does_not_fit_is_named(
    task: str, settings: dict[str, Any], sentence: str, source: RunDirectory, tmp_path: Path
) -> None:
    config = small_config("none", task, **settings)
    with pytest.raises(UsageError, match=sentence):
        train_config(config, tmp_path / "run", quiet=True, init_from=source.path)
    assert not (tmp_path / "run").exists()


def test_the_new_run_remembers_and_stands_alone(
    source: RunDirectory, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    gone = RunDirectory(tmp_path / "source")
    shutil.copytree(source.path, gone.path)
    config = small_config("rle+rnd", CARTPOLE, seed=7, time_limit=37)
    run = train_config(config, tmp_path / "run", init_from=f"{gone.path}@512")
    assert f"begins with {gone.path}@512: taken are the policy and value" in capsys.readouterr().out
    origin = run.meta()["init_from"]
    checkpoint = source.path / "checkpoints" / "000000000512.safetensors"
    assert origin["sha256"] == hashlib.sha256(checkpoint.read_bytes()).hexdigest()
    assert (origin["run"], origin["step"]) == (str(gone.path), 512)
    assert (origin["task"], origin["explore"]) == (CARTPOLE, "rle+rnd")
    assert run.config() == config
    # The same again, and another without.
    again = train_config(config, tmp_path / "again", quiet=True, init_from=f"{gone.path}@512")
    assert_same_tree(run.load_checkpoint(), again.load_checkpoint())
    scratch = train_config(config, tmp_path / "scratch", quiet=True)
    assert without_time(scratch.metrics()) != without_time(run.metrics())
    # Resumed from its beginning, as after a crash before the first checkpoint, without the source.
    shutil.rmtree(gone.path)
    interrupt_after(again.path, 0)
    resume(again.path, quiet=True)
    assert_same_tree(run.load_checkpoint(), again.load_checkpoint())
    assert without_time(again.metrics()) == without_time(run.metrics())


def test_what_is_not_there(source: RunDirectory, tmp_path: Path) -> None:
    for given, sentence in (
        (f"{tmp_path}/nothing", "is not a run directory"),
        (f"{tmp_path}/nothing@512", "nothing is not a run directory"),
        (f"{source.path}@5", "no checkpoint at step 5: choose one of 512, 1024"),
        (f"{source.path}@last", "the step of a checkpoint, one of 512, 1024"),
    ):
        with pytest.raises(UsageError, match=sentence):
            find_origin(given)


def test_steps_in_the_ways_people_write_them(source: RunDirectory, tmp_path: Path) -> None:
    for text in ("1024", "1_024", "1.024e3"):
        assert find_origin(f"{source.path}@{text}").step == 1024
    assert find_origin(source.path).step == 1024
    # A folder may have the sign in its name.
    shutil.copytree(source.path, tmp_path / "run@512")
    assert find_origin(tmp_path / "run@512").step == 1024
    assert find_origin(f"{tmp_path}/run@512@512").step == 512


def test_verbs(source: RunDirectory, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    small = ["--total-steps=256", "--num-envs=8", "--rollout-steps=16", "--compile=off"]
    small += ["--policy-hidden", "16", "--value-hidden", "16"]
    command = ["train", CARTPOLE, "--explore", "none", "--out", str(tmp_path / "run"), *small]
    assert main([*command, "--init-from", str(source.path)]) == 0
    assert RunDirectory.open(tmp_path / "run").meta()["init_from"]["step"] == 1024
    assert (tmp_path / "run" / INITIAL).exists()
    assert main([*command, "--init_form", str(source.path)]) == 2
    assert "did you mean '--init-from'?" in capsys.readouterr().err
    assert main(["train"]) == 2
    assert main(["train", "--help"]) == 0
    assert "--init-from RUN[@STEP]" in capsys.readouterr().out
    with pytest.raises(UsageError, match="not a run directory"):
        rle.train(CARTPOLE, "none", init_from=tmp_path / "nothing", out=tmp_path / "other")


def test_reports_tell_it_from_a_run_from_scratch(source: RunDirectory, tmp_path: Path) -> None:
    config = small_config("none", CARTPOLE, total_steps=256)
    train_config(config, tmp_path / "begun", quiet=True, init_from=source.path)
    train_config(config, tmp_path / "scratch", quiet=True)
    records = [read_run(path, name) for path, name in find_runs([tmp_path])]
    (group,) = group_runs(records)
    assert [method.label for method in group.methods] == [
        "PPO, begun with rle+rnd on gym/CartPole-v1 at 1.02\u00a0k steps",
        "PPO, from scratch",
    ]
    noted = [note for note in group.notes if "began with the agent of" in note]
    assert len(noted) == 1
    assert f"{source.path}@1024" in noted[0]
    assert json.loads(json.dumps(group.methods[0].settings))["init_from"] is not None
