"""White noise in place of F: the ablation that shows why the bonus must depend on the state."""

from __future__ import annotations

import torch
from torch import Tensor

from rle.config import RunConfig, WhiteNoiseConfig
from rle.core.transfer import moved
from rle.explore.base import Strategy, Stream
from rle.explore.transitions import Transitions
from rle.randomness import generator, generator_state, restore_generator
from rle.tasks.base import State, TaskSpec


class WhiteNoise(Strategy):
    """Adds coefficient · N(0, 1) to the task reward at every step; no latent, no head of its own."""

    def __init__(self, config: WhiteNoiseConfig, task_discount: float, seed: int) -> None:
        self._generator = generator(seed, "white noise")
        if config.coefficient > 0:
            self.streams = (
                Stream(
                    "white-noise",
                    config.coefficient,
                    task_discount,
                    value_coefficient=0.0,
                    scale=False,
                    separate=False,
                ),
            )

    def bonus(self, transitions: Transitions) -> Tensor:
        # Drawn when it is asked for: noise has no state to be a function of.
        noise = torch.randn(len(transitions), len(self.streams), generator=self._generator)
        return moved(noise, transitions.action.device)

    def reseed(self, seed: int) -> None:
        self._generator = generator(seed, "white noise")

    def state_dict(self) -> State:
        return {"generator": generator_state(self._generator)}

    def load_state_dict(self, state: State) -> None:
        self._generator = restore_generator(state["generator"])


def build_white_noise(
    config: RunConfig, settings: WhiteNoiseConfig, spec: TaskSpec, device: torch.device
) -> WhiteNoise:
    """WhiteNoise as `config` asks for it."""
    return WhiteNoise(settings, config.learner.discount, config.seed)
