"""One F on all ranks: what they saw is put together, and what the first has is given to all."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor, distributed

from rle.core.running_mean_std import Seen
from rle.plugins.latent_bonus import LatentBonus


@torch.no_grad()
def pooled(seen: Seen) -> Seen:
    """What all ranks saw together, the same bits on each of them."""
    own = seen.flat()
    everyones = [torch.empty_like(own) for _ in range(distributed.get_world_size())]
    distributed.all_gather(everyones, own)
    return seen.together(everyones)


@torch.no_grad()
def give_to_all(tensors: Iterable[Tensor]) -> None:
    """Overwrite `tensors` with those of the first rank."""
    for tensor in tensors:
        distributed.broadcast(tensor, src=0)


def take_from_first_rank(bonus: LatentBonus) -> None:
    """φ, its statistics and the bonus's scale; z and what it is drawn from stay this rank's."""
    # A copy: what was computed in inference mode cannot be written to outside of it.
    state = _copied(bonus.state_dict())
    give_to_all(state["features"].values())
    statistics = state["random_reward"]
    for moments in (statistics["moments"], statistics["pending"], *state["scaler"]["moments"]):
        give_to_all(moments.values())
    bonus.load_state_dict(state)


def with_own_latents(saved: dict[str, Any], bonus: LatentBonus) -> dict[str, Any]:
    """The first rank's state with the z of this one: two ranks must not follow the same."""
    own = bonus.state_dict()
    scaler = {**saved["scaler"], "carry": own["scaler"]["carry"]}
    return {**saved, "latents": own["latents"], "scaler": scaler}


def _copied(tree: Any) -> Any:
    if isinstance(tree, dict):
        return {key: _copied(part) for key, part in tree.items()}
    if isinstance(tree, list):
        return [_copied(part) for part in tree]
    return tree.clone() if isinstance(tree, Tensor) else tree
