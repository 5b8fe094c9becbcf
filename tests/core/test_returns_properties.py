"""Returns of any rollout, however cut, against sums that are written out term by term."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from torch import Tensor

from rle.core.returns import advantages, discounted_sums, linear_recurrence

NUMBERS = st.floats(-10, 10, allow_subnormal=False)
FRACTIONS = st.floats(0, 1, allow_subnormal=False)
quick = settings(max_examples=100, deadline=None)


@dataclass
class Streams:
    """A rollout of one or several environments and streams, in double precision."""

    rewards: Tensor
    values: Tensor
    next_values: Tensor
    cut: Tensor
    stop: Tensor
    discount: Tensor
    gae_lambda: float
    real: Tensor
    carry: Tensor


@st.composite
def rollouts(draw: st.DrawFn) -> Streams:
    """What is cut is stopped too, and no environment is reset twice in a row: as in every task."""
    steps, envs, streams = (draw(st.integers(1, most)) for most in (12, 3, 2))
    shape = (steps, envs, streams)

    def numbers(*size: int) -> Tensor:
        return torch.from_numpy(draw(arrays(np.float64, size, elements=NUMBERS)))

    def flags(*size: int) -> Tensor:
        return torch.from_numpy(draw(arrays(np.bool_, size)))

    cut = flags(*shape)
    real = flags(steps, envs)
    for row in range(1, steps):
        real[row] |= ~real[row - 1]
    discount = torch.from_numpy(draw(arrays(np.float64, (streams,), elements=FRACTIONS)))
    return Streams(
        numbers(*shape),
        numbers(*shape),
        numbers(*shape),
        cut,
        cut | flags(*shape),
        discount,
        draw(FRACTIONS),
        real,
        numbers(envs, streams),
    )


def one(r: Streams, env: int, stream: int) -> tuple[list[dict[str, float]], float]:
    """The real transitions of one environment and stream, one after the other, and its discount."""
    rows = []
    for t in range(len(r.rewards)):
        if not r.real[t, env]:
            continue
        stop = bool(r.stop[t, env, stream])
        reset_next = t + 1 < len(r.rewards) and not r.real[t + 1, env]
        # A stream that goes on over a reset goes on in the state after it.
        after = t + 1 if reset_next and not stop else t
        rows.append(
            {
                "row": t,
                "reward": float(r.rewards[t, env, stream]),
                "value": float(r.values[t, env, stream]),
                "next": float(r.next_values[after, env, stream]),
                "cut": bool(r.cut[t, env, stream]),
                "stop": stop,
            }
        )
    return rows, float(r.discount[stream])


@quick
@given(rollouts())
def test_advantages_are_the_sum_of_all_discounted_errors_to_come(r: Streams) -> None:
    result = advantages(
        r.rewards, r.values, r.next_values, r.cut, r.stop, r.discount, r.gae_lambda, r.real
    )
    expected = torch.zeros_like(result)
    for env in range(result.shape[1]):
        for stream in range(result.shape[2]):
            rows, discount = one(r, env, stream)
            for first, start in enumerate(rows):
                weight = 1.0
                for later in rows[first:]:
                    bootstrap = 0.0 if later["cut"] else discount * later["next"]
                    error = later["reward"] + bootstrap - later["value"]
                    expected[start["row"], env, stream] += weight * error
                    if later["stop"]:
                        break
                    weight *= discount * r.gae_lambda
    torch.testing.assert_close(result, expected, rtol=1e-9, atol=1e-9)


@quick
@given(rollouts())
def test_sums_are_of_all_discounted_rewards_since_the_last_stop(r: Streams) -> None:
    result = discounted_sums(r.rewards, r.stop, r.discount, r.carry, r.real)
    steps, envs, streams = result.shape
    for env in range(envs):
        for stream in range(streams):
            discount = float(r.discount[stream])
            for t in range(steps):
                total, weight = 0.0, 1.0
                for back in range(t, -1, -1):
                    if back < t and r.stop[back, env, stream]:
                        break
                    if r.real[back, env]:
                        total += weight * float(r.rewards[back, env, stream])
                        weight *= discount
                else:
                    total += weight * float(r.carry[env, stream])
                np.testing.assert_allclose(
                    float(result[t, env, stream]), total, rtol=1e-9, atol=1e-9
                )


@quick
@given(rollouts(), st.data())
def test_a_rollout_may_come_in_parts(r: Streams, data: st.DataObject) -> None:
    """The filter goes on over their border, with what was carried, 0 where it was stopped."""
    whole = discounted_sums(r.rewards, r.stop, r.discount, r.carry, r.real)
    border = data.draw(st.integers(1, len(r.rewards)))
    first = discounted_sums(
        r.rewards[:border], r.stop[:border], r.discount, r.carry, r.real[:border]
    )
    parts = [first]
    if border < len(r.rewards):
        carry = torch.where(r.stop[border - 1], 0.0, first[-1])
        rest = slice(border, None)
        parts.append(
            discounted_sums(r.rewards[rest], r.stop[rest], r.discount, carry, r.real[rest])
        )
    torch.testing.assert_close(torch.cat(parts), whole, rtol=1e-9, atol=1e-9)


@quick
@given(rollouts())
def test_where_all_are_real_saying_so_changes_nothing(r: Streams) -> None:
    given_ = (r.rewards, r.values, r.next_values, r.cut, r.stop, r.discount, r.gae_lambda)
    every = torch.ones_like(r.real)
    assert torch.equal(advantages(*given_), advantages(*given_, every))
    sums = (r.rewards, r.stop, r.discount, r.carry)
    assert torch.equal(discounted_sums(*sums), discounted_sums(*sums, every))


@quick
@given(rollouts())
def test_nothing_flows_back_over_a_stop(r: Streams) -> None:
    """Whatever happens after a row in which all streams stop, what was before it stays as it is."""
    border = len(r.rewards) // 2
    r.stop[border] = True
    r.real[border] = True
    other = r.rewards.clone()
    other[border + 1 :] += 1.0
    rest = (r.values, r.next_values, r.cut, r.stop, r.discount, r.gae_lambda, r.real)
    before, after = advantages(r.rewards, *rest), advantages(other, *rest)
    assert torch.equal(before[: border + 1], after[: border + 1])


@quick
@given(st.lists(st.tuples(NUMBERS, FRACTIONS), min_size=1, max_size=40))
def test_the_recurrence_is_the_loop(terms: list[tuple[float, float]]) -> None:
    inputs, weights = torch.tensor(terms, dtype=torch.float64).unbind(1)
    expected, carried = [], 0.0
    for value, weight in terms:
        carried = value + weight * carried
        expected.append(carried)
    result = linear_recurrence(inputs, weights)
    torch.testing.assert_close(result, torch.tensor(expected, dtype=torch.float64))
