"""What strategies see of the past: whole transitions, of which only what is asked for is gathered."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

import torch
from torch import Tensor

from rle.core.novelty import Order

Field = Tensor | Callable[[], Tensor]
"""A tensor `[B, ...]`, or what gathers it."""
FIELDS = ("observation", "action", "next_observation", "latent")


class Transitions:
    """B transitions, all of them real.

    Each field is a tensor, or a function that is called when the field is first asked for: a rollout of
    images is not copied for a strategy that does not look at them.
    """

    def __init__(
        self,
        observation: Field,
        action: Field,
        next_observation: Field,
        latent: Field | None = None,
        order: Callable[[], Order] | None = None,
    ) -> None:
        self._observation = observation
        self._action = action
        self._next_observation = next_observation
        self._latent = latent
        self._order = order

    def __len__(self) -> int:
        return len(self.action)

    @property
    def observation(self) -> Tensor:
        """`[B, ...]`, in which each action was taken."""
        if not isinstance(self._observation, Tensor):
            self._observation = self._observation()
        return self._observation

    @property
    def action(self) -> Tensor:
        """int64 `[B]`, or `[B, size]` of several choices; float32 `[B, size]` of continuous actions."""
        if not isinstance(self._action, Tensor):
            self._action = self._action()
        return self._action

    @property
    def next_observation(self) -> Tensor:
        """`[B, ...]`, the TRUE next observation: an episode's last one, never the next one's first."""
        if not isinstance(self._next_observation, Tensor):
            self._next_observation = self._next_observation()
        return self._next_observation

    @property
    def latent(self) -> Tensor | None:
        """`[B, L]`, what the strategy's `latent` was; None if it has none, and in the warm-up."""
        if self._latent is not None and not isinstance(self._latent, Tensor):
            self._latent = self._latent()
        return self._latent

    @property
    def order(self) -> Order | None:
        """Step, environment and episode of each; None if they are not of a rollout."""
        return None if self._order is None else self._order()

    def gathered(self, fields: Iterable[str]) -> Transitions:
        """The same, with `fields` gathered now."""
        for field in fields:
            getattr(self, field)
        return self

    def with_latent(self, latent: Field | None) -> Transitions:
        """The same transitions under another latent; what either gathers, both have."""
        return Transitions(
            lambda: self.observation,
            lambda: self.action,
            lambda: self.next_observation,
            latent,
            self._order,
        )

    def columns(self, first: int, last: int) -> Transitions:
        """The same with these columns of the latent alone: what a part of a mixture sees."""
        if first == last or self._latent is None:
            return self.with_latent(None)

        def own() -> Tensor:
            assert self.latent is not None
            return self.latent[:, first:last]

        return self.with_latent(own)

    def split(self, size: int | None) -> Iterator[Transitions]:
        """In pieces of at most `size`; None: in one."""
        if size is None:
            yield self
            return
        for first in range(0, len(self), size):
            yield self._piece(slice(first, first + size))

    def _piece(self, rows: slice) -> Transitions:
        def own() -> Tensor:
            assert self.latent is not None
            return self.latent[rows]

        def place() -> Order:
            assert self.order is not None
            return self.order.of(rows)

        return Transitions(
            lambda: self.observation[rows],
            lambda: self.action[rows],
            lambda: self.next_observation[rows],
            None if self._latent is None else own,
            None if self._order is None else place,
        )


def joined(parts: Sequence[Transitions]) -> Transitions:
    """Several one after the other, without their latents and their order."""
    return Transitions(
        lambda: torch.cat([part.observation for part in parts]),
        lambda: torch.cat([part.action for part in parts]),
        lambda: torch.cat([part.next_observation for part in parts]),
    )
