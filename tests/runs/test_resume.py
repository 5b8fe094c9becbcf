"""A run stopped anywhere and resumed ends bit for bit where the uninterrupted one ends."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from rle.errors import UsageError
from rle.runs.directory import RunDirectory
from rle.runs.manifest import MANIFEST
from rle.runs.sinks.jsonl import JsonLines
from rle.runs.state import load_state, save_state
from rle.runs.train import resume, train_config
from rle.runs.trainer import Trainer
from rle.runs.trust import remember
from rle.settings import to_dict
from tests.builders import small_config

STRATEGIES = ["none", "rle", "rnd", "noisy", "white-noise", "rle+rnd"]


def assert_same_tree(first: Any, second: Any, path: str = "") -> None:
    assert type(first) is type(second), path
    if isinstance(first, dict):
        assert first.keys() == second.keys(), path
        for key in first:
            assert_same_tree(first[key], second[key], f"{path}/{key}")
    elif isinstance(first, list):
        assert len(first) == len(second), path
        for index, (a, b) in enumerate(zip(first, second, strict=True)):
            assert_same_tree(a, b, f"{path}/{index}")
    elif isinstance(first, torch.Tensor):
        assert first.dtype == second.dtype, path
        assert torch.equal(first, second), path
    else:
        assert first == second, path


def stop_after(config, path: Path, iterations: int) -> None:
    """Train as `rle train` does, but only the first iterations."""
    trainer = Trainer(config)
    run = RunDirectory.create(path, config)
    remember(run, config)
    trainer.start()
    log = JsonLines()
    log.on_start(run, trainer)
    for _ in range(iterations):
        log.on_iteration(trainer, *trainer.iterate())
    state, artefacts = trainer.state_dict(), trainer.task.artefacts()
    run.save_checkpoint(trainer.step, state, artefacts, log.marks())
    log.on_end(run, trainer)


@pytest.mark.parametrize("explore", STRATEGIES)
@pytest.mark.parametrize("iterations", [1, 5])
def test_in_this_process(explore: str, iterations: int, tmp_path: Path) -> None:
    # A short time limit, so that episodes end and begin on both sides of the stop.
    config = small_config(explore, time_limit=37)
    whole = train_config(config, tmp_path / "whole", quiet=True)
    stop_after(config, tmp_path / "stopped", iterations)
    resumed = resume(tmp_path / "stopped", quiet=True)
    assert_same_tree(whole.load_checkpoint(), resumed.load_checkpoint())


@pytest.mark.parametrize("sees_bonus", [True, False])
@pytest.mark.parametrize("task", ["fourroom-noisytv", "gym/CartPole-v1", "gym/Pendulum-v1"])
def test_other_tasks(task: str, sees_bonus: bool, tmp_path: Path) -> None:
    # Of the default on gym/, what an episode has shown is known too late to be seen.
    settings = {"rle__condition_on_bonus": True, "rle__episodic_rarity": False}
    config = small_config("rle", task=task, time_limit=37, **(settings if sees_bonus else {}))
    whole = train_config(config, tmp_path / "whole", quiet=True)
    stop_after(config, tmp_path / "stopped", 3)
    resumed = resume(tmp_path / "stopped", quiet=True)
    assert_same_tree(whole.load_checkpoint(), resumed.load_checkpoint())


def test_in_a_new_process_after_a_kill(tmp_path: Path) -> None:
    """Killed without warning after its second checkpoint, resumed by the command in a new process."""
    config = small_config("rle", time_limit=37)
    whole = train_config(config, tmp_path / "whole", quiet=True)
    script = f"""
import os, rle
from rle.settings import from_dict
from rle.runs import trainer
iterate = trainer.Trainer.iterate
def die_in_the_seventh(self):
    if self.iteration == 6:
        os._exit(9)
    return iterate(self)
trainer.Trainer.iterate = die_in_the_seventh
rle.train_config(from_dict({to_dict(config)!r}), {str(tmp_path / "killed")!r})
"""
    killed = subprocess.run([sys.executable, "-c", script], check=False, capture_output=True)
    assert killed.returncode == 9, killed.stderr.decode()
    assert RunDirectory.open(tmp_path / "killed").checkpoint_steps() == [512]
    command = [sys.executable, "-m", "rle", "resume", str(tmp_path / "killed")]
    subprocess.run(command, check=True, capture_output=True)
    resumed = RunDirectory.open(tmp_path / "killed")
    assert_same_tree(whole.load_checkpoint(), resumed.load_checkpoint())
    # What was logged after the checkpoint and lost is logged once.
    drop = {"seconds"}
    kept = [{k: v for k, v in line.items() if k not in drop} for line in resumed.metrics()]
    expected = [{k: v for k, v in line.items() if k not in drop} for line in whole.metrics()]
    assert kept == expected
    assert resumed.episodes() == whole.episodes()


def test_same_seed_same_bits_and_another_seed_others(tmp_path: Path) -> None:
    first = train_config(small_config("rle"), tmp_path / "a", quiet=True)
    second = train_config(small_config("rle"), tmp_path / "b", quiet=True)
    other = train_config(small_config("rle", seed=1), tmp_path / "c", quiet=True)
    assert_same_tree(first.load_checkpoint(), second.load_checkpoint())
    with pytest.raises(AssertionError):
        assert_same_tree(first.load_checkpoint(), other.load_checkpoint())


def test_evaluation_does_not_change_training(tmp_path: Path) -> None:
    from rle.runs.evaluate import evaluate

    config = small_config("rle", time_limit=20)
    whole = train_config(config, tmp_path / "whole", quiet=True)
    stop_after(config, tmp_path / "stopped", 4)
    evaluate(tmp_path / "stopped", 8)
    resumed = resume(tmp_path / "stopped", quiet=True)
    assert_same_tree(whole.load_checkpoint(), resumed.load_checkpoint())


def test_resuming_a_finished_run_changes_nothing(tmp_path: Path) -> None:
    run = train_config(small_config("none"), tmp_path / "run", quiet=True)
    before = {path: path.stat().st_mtime_ns for path in run.path.rglob("*")}
    resume(run.path, quiet=True)
    assert {path: path.stat().st_mtime_ns for path in run.path.rglob("*")} == before


def test_two_processes_cannot_train_one_run(tmp_path: Path) -> None:
    stop_after(small_config("none"), tmp_path / "run", 1)
    # A lock held through another file handle is another process's, as far as the system can tell.
    with (
        RunDirectory.open(tmp_path / "run").locked(),
        pytest.raises(UsageError, match="another process"),
    ):
        resume(tmp_path / "run", quiet=True)


def test_state_round_trip(tmp_path: Path) -> None:
    state = {"a": torch.arange(3), "b": [1, 2.5, "x", {"c": torch.zeros(2, 2)}], "d": None}
    save_state(tmp_path / "state.safetensors", state)
    assert_same_tree(load_state(tmp_path / "state.safetensors"), state)


@pytest.mark.slow
@pytest.mark.parametrize("explore", ["rle", "rnd"])
def test_compiled_runs_resume_exactly_too(explore: str, tmp_path: Path) -> None:
    config = small_config(explore, time_limit=37, compile="on")
    whole = train_config(config, tmp_path / "whole", quiet=True)
    stop_after(config, tmp_path / "stopped", 3)
    resumed = resume(tmp_path / "stopped", quiet=True)
    assert_same_tree(whole.load_checkpoint(), resumed.load_checkpoint())


def test_a_checkpoint_of_other_settings_is_one_sentence(tmp_path: Path) -> None:
    stop_after(small_config("none"), tmp_path / "run", 1)
    other = small_config("none", policy_hidden=(17,))
    (tmp_path / "run" / "config.json").write_text(json.dumps(to_dict(other)))
    (tmp_path / "run" / MANIFEST).unlink()  # which knows that config.json was another
    with pytest.raises(UsageError, match="does not fit"):
        resume(tmp_path / "run", quiet=True)


def test_a_checkpoint_that_is_not_there(tmp_path: Path) -> None:
    stop_after(small_config("none"), tmp_path / "run", 1)
    with pytest.raises(UsageError, match="no checkpoint at step 5: choose one of 128"):
        RunDirectory.open(tmp_path / "run").load_checkpoint(5)
