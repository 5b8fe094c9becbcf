"""The pages on plug-ins, followed to the letter."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.test_pages import blocks


def test_gymnasium() -> None:
    first, following = blocks("plugins/gymnasium.md")
    names: dict[str, Any] = {}
    exec(first, names)
    assert names["observation"].shape == (4, 12)
    assert (names["info"]["bonus"] != 0).any()
    exec(following, names)


def test_stable_baselines3(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    first, *others = blocks("plugins/stable-baselines3.md")
    exec(first, names)
    assert names["model"].num_timesteps == 1024
    assert (names["env"].last_bonus != 0).all()
    for block in others:
        exec(block, names)
    assert (tmp_path / "cartpole.zip").exists()


def test_rsl_rl() -> None:
    pytest.importorskip("rsl_rl", reason="rsl-rl-lib is not installed")
    first, others, watching = blocks("plugins/rsl-rl.md")
    names: dict[str, Any] = {}
    exec(first, names)
    assert (names["runner"].alg._bonuses != 0).all()
    exec(others, names)
    exec(watching, names)
    assert names["actions"].shape == (64, 1)
    assert names["actions"].unique().numel() == 1


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
def test_torchrl() -> None:
    pytest.importorskip("tensordict", reason="TorchRL is not installed")
    (first,) = blocks("plugins/torchrl.md")
    names: dict[str, Any] = {}
    exec(first, names)
    assert (names["batch"]["next", "bonus"] != 0).all()
