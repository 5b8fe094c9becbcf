"""Stable-Baselines3 as a peer."""

from __future__ import annotations

import pytest
import torch

from rle.runs.peers.stable_baselines import StableBaselinesContender
from tests.builders import small_config
from tests.runs.test_images import atari_config


@pytest.mark.parametrize("task", ["fourroom", "atari"])
def test_it_trains_the_same_batches(task: str) -> None:
    config = small_config("none") if task == "fourroom" else atari_config("Pong", "none")
    contender = StableBaselinesContender(config, warm_up=1)
    before = [parameter.detach().clone() for parameter in contender._agent.policy.parameters()]
    measured = contender.run(0.001)
    assert measured.steps == config.batch_size
    assert measured.core_seconds > 0
    after = contender._agent.policy.parameters()
    assert not all(torch.equal(old, new) for old, new in zip(before, after, strict=True))
