"""Agents that are watched: whose weights act in which trajectory."""

from __future__ import annotations

from pathlib import Path

import torch

from rle.explore.noisy import noisy_layers
from rle.randomness import derive_seed
from rle.report.records import read_run
from rle.report.trajectories import SEED, load_for_pictures, watch
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
