"""Which environment follows which z, and until when (Algorithm 2).

An environment follows one z for S steps (the period) or until its episode ends, whichever comes first.
Wherever z changes, the bonus return is cut: what comes after is earned under another z.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor

from rle.core.distributions import LatentDistribution, sphere
from rle.core.transfer import moved


class LatentState(NamedTuple):
    """What N environments follow now."""

    z: Tensor
    """`[N, d]`, under which the next actions are taken. Columns that should start from what `fresh`
    says under a new z may stand beside it, such as the previous bonus: `[N, d + 1]`."""
    countdown: Tensor
    """int64 `[N]`: after how many more steps each gets a new one."""


def start_latents(z: Tensor, period: int, offsets: Tensor | None = None) -> LatentState:
    """Every environment at the start of its `z` `[N, d]`, or `offsets` int64 `[N]` steps into it."""
    countdown = torch.full((len(z),), period, dtype=torch.int64, device=z.device)
    return LatentState(z, countdown if offsets is None else countdown - offsets.to(z.device))


def stagger(num_envs: int, period: int, generator: torch.Generator) -> Tensor:
    """Random offsets int64 `[N]` for `start_latents`, so that environments do not switch in step."""
    return torch.randint(0, period, (num_envs,), generator=generator)


def step_latents(
    state: LatentState, ended: Tensor, real: Tensor | None, fresh: Tensor, period: int
) -> tuple[LatentState, Tensor]:
    """Go one step on, without side effects.

    No branch depends on data: a loop around this may be compiled as a whole.

    Args:
        state: what was followed in the step just made.
        ended: bool `[N]`, whose episode ended in it, by termination or by a time limit.
        real: bool `[N]`: False where the call only reset the environment, which is not a step under
            z; None: all are real.
        fresh: `[N, d]`, a new z for each environment, whether it is needed or not: how many numbers
            are drawn must not depend on what the agent did.
        period: S, the steps under one z.

    Returns:
        The next state, and bool `[N]`: who switched, so that the bonus return is cut there.

    """
    countdown = state.countdown - (1 if real is None else real.long())
    switched = ended | (countdown <= 0)
    z = torch.where(switched[:, None], fresh, state.z)
    return LatentState(z, torch.where(switched, period, countdown)), switched


class Latents:
    """The functions above with their state kept: for loops that take one step at a time."""

    def __init__(
        self,
        num_envs: int,
        dimension: int,
        period: int,
        generator: torch.Generator,
        distribution: LatentDistribution = sphere,
        staggered: bool = False,
        device: torch.device | str = "cpu",
    ) -> None:
        self._shape = (num_envs, dimension)
        self._period = period
        self._latent_distribution = distribution
        self._generator = generator
        self._device = torch.device(device)
        z = self._draw()
        offsets = stagger(num_envs, period, generator) if staggered else None
        self._become(start_latents(z, period, offsets))
        self._nobody = torch.zeros(num_envs, dtype=torch.bool, device=self._device)

    def _become(self, state: LatentState) -> None:
        self._state = state
        self._passed = 0
        """Steps since then in which nobody switched: `countdown` does not know of them yet."""
        self._soonest: int | None = None
        """The smallest countdown; None: not looked up."""

    def _draw(self) -> Tensor:
        return moved(self._latent_distribution(self._shape, self._generator), self._device)

    @property
    def z(self) -> Tensor:
        """`[N, d]`, under which the next actions are taken."""
        return self._state.z

    def step(self, ended: Tensor | None, real: Tensor | None = None) -> Tensor:
        """Go one step on; returns who switched, bool `[N]`. See `step_latents`.

        `ended` None: nobody's episode ended, and all are real. Such a step costs next to nothing.
        """
        fresh = self._draw()
        if ended is None:
            if self._soonest is None:
                self._soonest = int(self._state.countdown.min())
            if self._passed + 1 < self._soonest:
                self._passed += 1
                return self._nobody
            ended = self._nobody
        state, switched = step_latents(self._now(), ended, real, fresh, self._period)
        self._become(state)
        return switched

    def _now(self) -> LatentState:
        z, countdown = self._state
        return LatentState(z, countdown - self._passed) if self._passed else self._state

    def state_dict(self) -> dict[str, Any]:
        """All that is needed to go on exactly from here."""
        return {**self._now()._asdict(), "generator": self._generator.get_state()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on from a state of `state_dict`."""
        z, countdown = state["z"].to(self._device), state["countdown"].to(self._device)
        self._become(LatentState(z, countdown))
        self._generator.set_state(state["generator"].cpu())
