"""The world that `benchmarks/plugins_fourroom.py` trains in is the one it names."""

from __future__ import annotations

import gymnasium
import numpy as np
import pytest
from benchmarks.plugins_fourroom import FourRoomVecEnv, run

import rle  # noqa: F401


def test_fourroom_is_the_registered_one() -> None:
    vector, single = FourRoomVecEnv(2), gymnasium.make("rle/FourRoom-v0")
    np.testing.assert_array_equal(vector.reset()[0], single.reset()[0])
    source = np.random.default_rng(0)
    for time in range(1, 1010):
        actions = source.integers(4, size=2)
        seen, _, dones, infos = vector.step(actions)
        expected, _, _, truncated, _ = single.step(actions[0])
        assert dones[0] == truncated == (time == 1000)
        if truncated:
            np.testing.assert_array_equal(infos[0]["terminal_observation"], expected)
            expected, _ = single.reset()
        np.testing.assert_array_equal(seen[0], expected)


@pytest.mark.parametrize("method", ["ppo", "wrapper", "rleppo"])
def test_an_agents_line(method: str) -> None:
    line = run((method, 0, 4096))
    assert line["steps"] == 4096
    assert 0 < line["coverage"] < 1
