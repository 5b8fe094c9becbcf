"""Which peers there are: the one place that names them."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial

from rle.config import RunConfig
from rle.runs.peers.played import plays_envpool, plays_gymnasium_or_envpool, plays_papers_fourroom
from rle.runs.rounds import MakeContender, built


@dataclass(frozen=True)
class Peer:
    """A program that trains, known without what it runs on being imported."""

    label: str
    package: str
    """What must be installed."""
    plays: Callable[[RunConfig], bool]
    """Whether it can play the task of a run, with that run's settings."""
    path: str
    """`module:name` of what builds its contender; imported in the contender's process alone."""
    explore: str = "none"
    """Whose settings it trains with: our `rle`'s, or those of our `none`."""

    @property
    def installed(self) -> bool:
        """Whether what it needs is."""
        return importlib.util.find_spec(self.package) is not None

    @property
    def contender(self) -> MakeContender:
        """What builds it, fit to be sent to another process."""
        return partial(built, self.path)


_HERE = "rle.runs.peers"
PEERS = (
    Peer(
        "Stable-Baselines3 PPO",
        "stable_baselines3",
        plays_gymnasium_or_envpool,
        f"{_HERE}.stable_baselines:StableBaselinesContender",
    ),
    Peer(
        "CleanRL-like PPO",
        "envpool",
        plays_envpool,
        f"{_HERE}.cleanrl_like:CleanRLLikeContender",
    ),
    Peer(
        "RLE in JAX, NumPy draws",
        "jax",
        plays_papers_fourroom,
        f"{_HERE}.jax_contender:drawing_on_the_host",
        explore="rle",
    ),
    Peer(
        "RLE in JAX, XLA draws",
        "jax",
        plays_papers_fourroom,
        f"{_HERE}.jax_contender:drawing_in_the_program",
        explore="rle",
    ),
)


def invited(
    ours: Mapping[str, RunConfig], peers: Iterable[Peer] = PEERS
) -> tuple[list[tuple[str, Peer]], list[str]]:
    """Who races against `ours`, settings by strategy: peers by label, and labels of those missing.

    A peer that cannot play the task is in neither.
    """
    players = [peer for peer in peers if peer.plays(ours[peer.explore])]
    here = [(peer.label, peer) for peer in players if peer.installed]
    return here, [peer.label for peer in players if not peer.installed]
