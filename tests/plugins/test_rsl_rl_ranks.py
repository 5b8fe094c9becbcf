"""Two ranks of rsl_rl, each a process: one φ, one F, and a z for every environment of both."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

pytest.importorskip("rsl_rl", reason="rsl-rl-lib is not installed")

from rle.core.running_mean_std import RunningCovariance, RunningMeanStd

ROOT = Path(__file__).parent.parent.parent


@pytest.fixture(scope="module", params=["paper", "whitened"])
def ranks(request: Any, tmp_path_factory: pytest.TempPathFactory) -> list[Any]:
    """What both have, with the paper's F and with a whitened one of 3 features."""
    folder = tmp_path_factory.mktemp("ranks")
    processes = [
        subprocess.Popen(
            [sys.executable, "-m", "tests.plugins.rsl_ranks", str(folder), request.param],
            cwd=ROOT,
            env={**os.environ, "RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": "2"},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(2)
    ]
    for process in processes:
        _, errors = process.communicate(timeout=300)
        assert process.returncode == 0, errors
    return [torch.load(folder / f"rank{rank}.pt", weights_only=True) for rank in range(2)]


@pytest.mark.parametrize("when", ["trained", "loaded", "went_on"])
@pytest.mark.parametrize("what", ["critic", "features", "random_reward", "scale"])
def test_both_have_the_same(ranks: list[Any], when: str, what: str) -> None:
    first, second = (rank[when][what] for rank in ranks)
    torch.testing.assert_close(first, second, rtol=0, atol=0)


@pytest.mark.parametrize("when", ["trained", "loaded", "went_on"])
def test_each_has_its_own_latents(ranks: list[Any], when: str) -> None:
    assert len(torch.cat([rank[when]["z"] for rank in ranks]).unique(dim=0)) == 8


def test_statistics_are_those_of_what_both_saw(ranks: list[Any]) -> None:
    assert not torch.equal(ranks[0]["seen"], ranks[1]["seen"])
    moments = ranks[0]["trained"]["random_reward"]["moments"]
    together = RunningCovariance(3) if "mixture" in moments else RunningMeanStd((3,))
    together.update(torch.stack([rank["seen"] for rank in ranks]))
    for name, part in together.state_dict().items():
        torch.testing.assert_close(moments[name], part)
    # Sums of the bonus have counted since it was first paid, in the third rollout.
    (scale,) = ranks[0]["trained"]["scale"]
    assert float(scale["count"]) == 2 * 4 * 8


def test_loading_restores_what_was_saved(ranks: list[Any]) -> None:
    for what in ("features", "random_reward", "scale", "z"):
        torch.testing.assert_close(ranks[0]["loaded"][what], ranks[0]["trained"][what])
