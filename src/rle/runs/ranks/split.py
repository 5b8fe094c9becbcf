"""The state of a run that is split over devices: one state of all environments, whoever has them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from rle.errors import RunError
from rle.runs.state import bytes_state, state_bytes
from rle.tasks.base import State
from rle.world import World


class Branches(NamedTuple):
    """Where a state differs between ranks: places such as `strategy/latent`; the rest is the same."""

    per_environment: Sequence[str]
    """Tensors and lists with an entry for each environment, along their first dimension."""
    summed: Sequence[str]
    """Tensors that count what happened in all environments."""


def merged(state: State, branches: Branches, world: World) -> State:
    """The state of all environments from each rank's; every rank must ask for it."""
    if world.alone:
        return state
    for place in branches.per_environment:
        state = _changed(state, place, lambda part: _joined(part, world))
    for place in branches.summed:
        state = _changed(state, place, world.sum)
    return state


def part_of(state: State, branches: Branches, world: World) -> State:
    """This rank's part of the state of all environments."""
    if world.alone:
        return state
    first, last = world.first_env, world.first_env + world.envs_here
    for place in branches.per_environment:
        state = _changed(state, place, lambda whole: whole[first:last])
    if world.rank > 0:
        # What was counted so far is counted once.
        for place in branches.summed:
            state = _changed(state, place, torch.zeros_like)
    return state


def _changed(node: State, place: str, change: Any) -> State:
    """The same tree with another branch at `place`, if it has one there."""
    name, _, rest = place.partition("/")
    if name not in node:
        return node
    return {**node, name: _changed(node[name], rest, change) if rest else change(node[name])}


def _joined(part: Any, world: World) -> Any:
    if isinstance(part, Tensor):
        return world.gather(part)
    # A list of trees, one per environment: they differ in size, so that they go as bytes.
    sent = torch.frombuffer(bytearray(state_bytes({"entries": part})), dtype=torch.uint8)
    sizes = world.gather(torch.tensor([len(sent)]))
    padded = torch.zeros(int(sizes.max()), dtype=torch.uint8)
    padded[: len(sent)] = sent
    everybody = world.gather(padded[None])
    return [
        entry
        for row, size in zip(everybody, sizes.tolist(), strict=True)
        for entry in bytes_state(bytes(row[:size].numpy()))["entries"]
    ]


def require_same_parameters(parameters: Tensor, world: World) -> None:
    """Raise `RunError` unless all ranks have learned the same: they must, to the last bit."""
    if world.alone or world.same(parameters):
        return
    raise RunError(
        "the run's devices have come to different networks, which must not be: `rle resume RUN` goes on "
        "from the last checkpoint; if it happens again, train on one device."
    )
