"""RLE on FourRoom in JAX: the world move by move, the update's arithmetic, and that it trains.

JAX runs in a process of its own: once it is imported, it objects to every later fork.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import numpy as np
import pytest
import torch

from rle.core.returns import advantages, discounted_sums
from rle.core.running_mean_std import RunningMeanStd
from rle.presets import preset_config
from rle.settings import replace
from rle.tasks.fourroom import FourRoom

SMALL = {
    "num_envs": 8,
    "rollout_steps": 16,
    "policy_hidden": (16,),
    "value_hidden": (16,),
    "time_limit": 40,
    "rle.feature_hidden": (16,),
    "rle.resample_every": 5,
}
ENVIRONMENTS, STEPS, LIMIT = 6, 300, 120


@pytest.fixture(scope="module")
def elsewhere() -> Iterator[ProcessPoolExecutor]:
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        yield pool


def actions() -> Any:
    """At random, so that edges are met; the first environment goes through a door at first."""
    drawn = np.random.default_rng(0).integers(0, 4, (STEPS, ENVIRONMENTS)).astype(np.int32)
    left, down = 0, 3
    drawn[:15, 0], drawn[15:60, 0] = left, down
    return drawn


def played_in_jax() -> Any:
    import jax

    from rle.runs.peers.jax_worlds import Places, at_start, make_worlds, step

    worlds = make_worlds(LIMIT)

    def played(places: Places, action: Any) -> tuple[Places, Any]:
        after, reached, truncated = step(worlds, places, action)
        return after, (worlds.view[reached], worlds.view[after.position], truncated)

    _, seen = jax.lax.scan(played, at_start(ENVIRONMENTS), actions())
    return tuple(np.asarray(part) for part in seen)


def test_worlds_agree_move_by_move(elsewhere: ProcessPoolExecutor) -> None:
    task = FourRoom("fourroom", ENVIRONMENTS, time_limit=LIMIT)
    task.reset(0)
    theirs = elsewhere.submit(played_in_jax).result()
    for action, reached, shown, truncated in zip(actions(), *theirs, strict=True):
        step = task.step(torch.from_numpy(action).long())
        np.testing.assert_allclose(step.next_observation.numpy(), reached, atol=1e-6)
        np.testing.assert_allclose(step.observation.numpy(), shown, atol=1e-6)
        np.testing.assert_array_equal(step.truncated.numpy(), truncated)
    visited = task.visits().reshape(51, 51) > 0
    assert visited[26:].any(), "no door was passed"


def trained_in_jax(on_host: bool) -> dict[str, Any]:
    from rle.runs.peers import jax_fourroom, jax_returns
    from rle.runs.peers.jax_contender import JaxContender

    # Loops that are not written out are compiled sooner.
    jax_fourroom.STEPS_AT_ONCE = jax_returns.ROWS_AT_ONCE = 1
    config = replace(preset_config("fourroom", "rle"), SMALL)
    contender = JaxContender(config, 1, on_host)
    before = contender.training
    kept = {"parameters": np.array(before.optimised.parameters), "visits": np.array(before.visits)}
    measured = contender.run(0.001)
    after = contender.training
    return {
        "before": kept,
        "steps": measured.steps,
        "parameters": np.array(after.optimised.parameters),
        "visits": np.array(after.visits),
        "measured": np.array(contender.statistics),
        "updates": float(after.optimised.updates),
        "latent": np.array(after.followed.latent),
    }


@pytest.mark.parametrize("on_host", [True, False], ids=["host", "program"])
def test_it_trains(elsewhere: ProcessPoolExecutor, on_host: bool) -> None:
    found = elsewhere.submit(trained_in_jax, on_host).result()
    iterations = found["steps"] // (8 * 16)
    assert found["steps"] == iterations * 8 * 16 > 0
    assert found["visits"].sum() - found["before"]["visits"].sum() == found["steps"]
    assert (found["visits"] > 0).sum() >= (found["before"]["visits"] > 0).sum()
    # Positions are numbers of cells times four.
    assert found["visits"].reshape(-1, 4)[:, 1:].sum() == 0
    assert np.isfinite(found["measured"]).all()
    # The policy begins near the uniform one, ln 4 = 1.386, and moves.
    assert 0.5 < found["measured"][-1, 3] <= np.log(4)
    assert not np.array_equal(found["parameters"], found["before"]["parameters"])
    # The iterations of the warm-up's one call count too: 4 epochs of 4 minibatches.
    assert found["updates"] == 16 * (iterations + 8)
    np.testing.assert_allclose(np.linalg.norm(found["latent"], axis=-1), 1, rtol=1e-5)


def sums_in_jax(reward: Any, stop: Any, carry: Any, weight: Any) -> tuple[Any, ...]:
    from rle.runs.peers.jax_returns import backward, discounted_sums, merged_moments

    last, sums = discounted_sums(reward, stop, carry, 0.9)
    moments = merged_moments(merged_moments(np.zeros(3), reward), 2 * reward)  # type: ignore[arg-type]
    return tuple(np.asarray(part) for part in (last, sums, backward(reward, weight), moments))


def test_sums_over_time_are_ours(elsewhere: ProcessPoolExecutor) -> None:
    source = np.random.default_rng(1)
    reward = source.normal(size=(20, 3)).astype(np.float32)
    carry = source.normal(size=3).astype(np.float32)
    stop = source.random((20, 3)) < 0.2
    weight = (0.9 * 0.95 * ~stop).astype(np.float32)
    last, sums, traced, moments = elsewhere.submit(
        sums_in_jax, reward, stop, carry, weight
    ).result()
    rewards, stops = torch.from_numpy(reward)[..., None], torch.from_numpy(stop)[..., None]
    discount = torch.tensor([0.9])
    ours = discounted_sums(rewards, stops, discount, torch.from_numpy(carry)[:, None])[..., 0]
    np.testing.assert_allclose(sums, ours, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(
        last, torch.where(stops[-1, :, 0], 0, ours[-1]), rtol=1e-5, atol=1e-6
    )
    nothing = torch.zeros_like(rewards)
    expected = advantages(rewards, nothing, nothing, stops, stops, discount, 0.95)
    np.testing.assert_allclose(traced, expected[..., 0], rtol=1e-5, atol=1e-6)
    seen = RunningMeanStd(())
    for samples in (rewards, 2 * rewards):
        seen.update(samples)
    np.testing.assert_allclose(moments, [seen.count, seen.mean, seen.squares], rtol=1e-5)
