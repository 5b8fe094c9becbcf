"""Strategy names and what builds them."""

from __future__ import annotations

import torch

from rle.aliases import STRATEGIES
from rle.checks import nearest
from rle.config import RunConfig
from rle.errors import UsageError
from rle.explore.base import Strategy
from rle.explore.mixture import Mixture
from rle.explore.noisy import build_noisy
from rle.explore.none import NoExploration
from rle.explore.random_actions import build_random_actions
from rle.explore.rle import build_rle
from rle.explore.rnd import build_rnd
from rle.explore.white_noise import build_white_noise
from rle.tasks.base import TaskSpec

_BUILDERS = {
    "none": lambda config, spec, device: NoExploration(),
    "rle": build_rle,
    "rnd": build_rnd,
    "noisy": build_noisy,
    "white-noise": build_white_noise,
    "random": build_random_actions,
}


def strategy_names() -> dict[str, str]:
    """Every strategy with one line about it."""
    return {
        "none": "plain PPO: the policy's own randomness",
        "rle": "Random Latent Exploration: a bonus φ(s')·z for a random z that policy and value see",
        "rnd": "Random Network Distillation: a bonus where a fixed random network is hard to predict",
        "noisy": "NoisyNet: learned noise on the weights of the last layers",
        "white-noise": "N(0, 1) added to every reward: RLE without state or latent",
        "random": "uniformly random actions, nothing learned: what chance alone explores",
    }


def check_strategy_name(name: str) -> None:
    """Raise `UsageError` with the nearest name unless `name` is a strategy or a mixture `a+b`."""
    parts = name.split("+")
    for part in parts:
        if part not in _BUILDERS:
            meant = STRATEGIES.get(part.lower(), part)
            raise UsageError(f"there is no strategy {part!r}: {nearest(meant, _BUILDERS)}")
    if len(parts) > 1 and (len(set(parts)) < len(parts) or {"none", "random"} & set(parts)):
        raise UsageError(
            f"the mixture {name!r} must name different strategies other than none and random."
        )


def make_strategy(config: RunConfig, spec: TaskSpec, device: torch.device) -> Strategy:
    """Build the strategy, or the mixture `a+b`, that `config.explore` names."""
    check_strategy_name(config.explore)
    parts: dict[str, Strategy] = {
        name: _BUILDERS[name](config, spec, device) for name in config.explore.split("+")
    }
    return Mixture(parts) if len(parts) > 1 else parts[config.explore]
