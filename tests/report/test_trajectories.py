"""Agents that are watched: whose weights act in which trajectory, and that each is watched once."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from rle.explore.noisy import noisy_layers
from rle.randomness import derive_seed
from rle.report import report
from rle.report.measure import play
from rle.report.measure.plan import SEED, Plan
from rle.report.measure.play import load_for_pictures, reward_values, watch
from rle.report.measure.watched import reward_maps, watched
from rle.report.read.records import RunRecord, read_run
from rle.runs.manifest import MANIFEST
from rle.runs.train import train_config
from tests.builders import small_config


def test_each_draw_of_a_noisy_agent_has_its_own_weights(tmp_path: Path) -> None:
    train_config(small_config("noisy", "fourroom"), tmp_path / "run", quiet=True)
    run = read_run(tmp_path / "run", "run")
    agent = load_for_pictures(run, None)
    cells, draw_of = watch(agent, draws=3, repeats=2, steps=40)
    assert cells.shape == (41, 6)
    assert draw_of is not None
    assert draw_of.tolist() == [0, 0, 1, 1, 2, 2]
    alone = load_for_pictures(run, None)
    for draw in range(3):
        alone.strategy.reseed(derive_seed(SEED, f"report draw {draw}"))
        alone.strategy.begin_rollout(alone.network)
        pairs = zip(noisy_layers(agent.network), noisy_layers(alone.network), strict=True)
        for layer, single in pairs:
            for row in (2 * draw, 2 * draw + 1):
                assert torch.equal(layer.weight_noise[row], single.weight_noise)
                assert torch.equal(layer.bias_noise[row], single.bias_noise)
    again, _ = watch(agent, draws=3, repeats=2, steps=40)
    assert (again == cells).all()


def test_agents_are_watched_with_the_threads_of_their_training(tmp_path: Path) -> None:
    """Two threads take sixteen times as long for 64 trajectories: they wait for each other."""
    train_config(small_config("none", "fourroom"), tmp_path / "run", quiet=True)
    run, before = read_run(tmp_path / "run", "run"), torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        assert load_for_pictures(run, None).config.machine.threads == 1
        assert torch.get_num_threads() == 1
    finally:
        torch.set_num_threads(before)


PLAN = Plan(draws=3, repeats=2, steps=40)


@pytest.fixture
def run(tmp_path: Path) -> RunRecord:
    config = small_config("rle", "fourroom", total_steps=512, checkpoint_every=256)
    train_config(config, tmp_path / "run", quiet=True)
    return read_run(tmp_path / "run", "run")


@pytest.fixture
def nobody_plays(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("an agent was loaded")

    monkeypatch.setattr(play, "load_for_pictures", refuse)


def kept_files(run: RunRecord) -> list[str]:
    return sorted(path.name for path in (run.directory.path / "trajectories").iterdir())


def test_an_agent_is_watched_once(run: RunRecord, request: pytest.FixtureRequest) -> None:
    expected, draw_of = watch(load_for_pictures(run, 256), 3, 2, 40)
    first, first_draws = watched(run, 256, PLAN)
    assert kept_files(run) == ["000000000256-3x2x40.safetensors"]
    request.getfixturevalue("nobody_plays")
    second, second_draws = watched(run, 256, PLAN)
    assert (first == expected).all()
    assert (second == expected).all()
    assert second.dtype == expected.dtype
    assert first_draws is not None
    assert second_draws is not None
    assert first_draws.tolist() == second_draws.tolist() == draw_of.tolist() == [0, 0, 1, 1, 2, 2]
    # Another checkpoint, or another plan, was never played.
    for step, plan in ((512, PLAN), (256, Plan(2, 2, 40)), (256, Plan(3, 2, 30))):
        with pytest.raises(AssertionError, match="an agent was loaded"):
            watched(run, step, plan)


def test_reward_maps_are_computed_once(run: RunRecord, request: pytest.FixtureRequest) -> None:
    expected = reward_values(load_for_pictures(run, 512), 3)
    assert expected is not None
    assert expected.shape == (3, 51, 51)
    first = reward_maps(run, 3)
    assert kept_files(run) == ["000000000512-rewards-3.safetensors"]
    request.getfixturevalue("nobody_plays")
    for found in (first, reward_maps(run, 3)):
        assert found is not None
        assert found.dtype == np.float64
        assert (found == expected).all()
    with pytest.raises(AssertionError, match="an agent was loaded"):
        reward_maps(run, 4)


def test_a_second_report_does_not_wait_for_pytorch(run: RunRecord, tmp_path: Path) -> None:
    report([run.directory.path], tmp_path / "first")
    script = (
        "import sys\nsys.modules['torch'] = None\nimport rle\n"
        f"rle.report([{str(run.directory.path)!r}], {str(tmp_path / 'second')!r})"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
    first, second = (tmp_path / folder for folder in ("first", "second"))
    pictures = sorted(path.name for path in (first / "figures").iterdir())
    assert "fourroom-reward-maps.png" in pictures
    assert pictures == sorted(path.name for path in (second / "figures").iterdir())
    for name in pictures:
        assert (first / "figures" / name).read_bytes() == (second / "figures" / name).read_bytes()


def test_another_agent_in_the_place_of_the_first_is_watched_again(run: RunRecord) -> None:
    first, _ = watched(run, 256, PLAN)
    checkpoints = run.directory.path / "checkpoints"
    shutil.copy(checkpoints / "000000000512.safetensors", checkpoints / "000000000256.safetensors")
    (run.directory.path / MANIFEST).unlink()  # which knows that it was another
    second, _ = watched(run, 256, PLAN)
    assert (second == watched(run, 512, PLAN)[0]).all()
    assert (second != first).any()


def test_what_cannot_be_read_is_played_again(run: RunRecord) -> None:
    first, _ = watched(run, 256, PLAN)
    [kept] = (run.directory.path / "trajectories").iterdir()
    whole = kept.read_bytes()
    for damaged in (b"", b"damaged", whole[: len(whole) // 2]):
        kept.write_bytes(damaged)
        again, _ = watched(run, 256, PLAN)
        assert (again == first).all()
        assert kept.read_bytes() == whole


def test_a_run_that_cannot_be_written_to_is_watched_all_the_same(run: RunRecord) -> None:
    (run.directory.path / "trajectories").write_text("in the way")
    cells, _ = watched(run, 256, PLAN)
    assert cells.shape == (41, 6)


def test_no_trajectory_is_longer_than_an_episode(tmp_path: Path) -> None:
    config = small_config("none", "fourroom", environment__time_limit=20)
    train_config(config, tmp_path / "run", quiet=True)
    run = read_run(tmp_path / "run", "run")
    cells, draw_of = watched(run, run.directory.checkpoint_steps()[-1], PLAN)
    assert cells.shape == (21, 6)
    assert draw_of is None
