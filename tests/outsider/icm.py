"""The intrinsic curiosity module (Pathak et al. 2017) in one file.

A feature is what helps to tell, from two successive observations, which action was taken (the inverse
model). The bonus is the error of predicting the next feature from this one and the action (the forward
model). Both are trained beside the agent.

    rle train gym/Pendulum-v1 --explore icm:ICM --icm.coefficient 0.2
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from rle.explore import Strategy, StrategyRecord, Stream, Transitions
from rle.tasks import Discrete


@dataclass(frozen=True)
class ICMSettings:
    """What the bonus weighs, and how the two models share the loss."""

    coefficient: float = 0.1
    """Weight of the bonus advantage."""
    discount: float = 0.99
    """Of the bonus return."""
    features: int = 32
    """How many numbers describe an observation."""
    forward_share: float = 0.2
    """β: the forward model's share of the loss; the inverse model has the rest."""
    scale: float = 0.5
    """η/2: what the forward model's squared error is multiplied by."""


class Models(nn.Module):
    """Features of an observation, and a forward and an inverse model on them."""

    def __init__(self, inputs: int, action_numbers: int, features: int) -> None:
        super().__init__()
        self.describe = nn.Sequential(
            nn.Flatten(), nn.Linear(inputs, 64), nn.ELU(), nn.Linear(64, features)
        )
        self.forward_model = nn.Sequential(
            nn.Linear(features + action_numbers, 64), nn.ELU(), nn.Linear(64, features)
        )
        self.inverse_model = nn.Sequential(
            nn.Linear(2 * features, 64), nn.ELU(), nn.Linear(64, action_numbers)
        )


class Curiosity(Strategy):
    """A bonus where the forward model errs; both models are trained with the agent's optimiser."""

    def __init__(self, settings: ICMSettings, spec: Any, seed: int, device: torch.device) -> None:
        self._settings = settings
        space = spec.action_space
        self._choices = space.n if isinstance(space, Discrete) else None
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            inputs = torch.Size(spec.observation_shape).numel()
            self._models = Models(inputs, self._choices or space.size, settings.features)
        self.auxiliary = self._models.to(device)
        self.auxiliary_fields = ("observation", "action", "next_observation")
        self.streams = (Stream("icm", settings.coefficient, settings.discount, 0.5, scale=True),)
        self._error = 0.0

    def _numbers(self, action: Tensor) -> Tensor:
        """Actions `[B, ...]` as numbers `[B, size]`: one of n choices as n zeros and a one."""
        return (
            action if self._choices is None else functional.one_hot(action, self._choices).float()
        )

    def _forward_error(self, transitions: Transitions, now: Tensor, after: Tensor) -> Tensor:
        """½ η ‖predicted - φ(s')‖², `[B]`."""
        guess = self._models.forward_model(torch.cat([now, self._numbers(transitions.action)], -1))
        return self._settings.scale * (guess - after).square().sum(-1)

    @torch.no_grad()
    def bonus(self, transitions: Transitions) -> Tensor:
        now = self._models.describe(transitions.observation.float())
        after = self._models.describe(transitions.next_observation.float())
        return self._forward_error(transitions, now, after)[:, None]

    def observe(self, transitions: Transitions) -> None:
        self._error = float(self.bonus(transitions).mean())

    def auxiliary_loss(self, transitions: Transitions) -> Tensor:
        now = self._models.describe(transitions.observation.float())
        after = self._models.describe(transitions.next_observation.float())
        guess = self._models.inverse_model(torch.cat([now, after], -1))
        if self._choices is None:
            inverse = functional.mse_loss(guess, transitions.action)
        else:
            inverse = functional.cross_entropy(guess, transitions.action)
        # The features are the inverse model's: the forward model only predicts them.
        forward = self._forward_error(transitions, now.detach(), after.detach()).mean()
        share = self._settings.forward_share
        return (1 - share) * inverse + share * forward

    def metrics(self) -> dict[str, float]:
        return {"icm_forward_error": self._error}

    def state_dict(self) -> dict[str, Any]:
        return {"models": dict(self._models.state_dict())}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._models.load_state_dict(state["models"])


ICM = StrategyRecord(
    "icm",
    "the intrinsic curiosity module: a bonus where a forward model errs",
    lambda config, settings, spec, device: Curiosity(settings, spec, config.seed, device),
    ICMSettings,
)
