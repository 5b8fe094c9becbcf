"""Storage of one rollout: T steps of N environments, each observation kept once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from rle.core.novelty import Order
from rle.explore.transitions import Transitions
from rle.learn.frames import StackedFrames
from rle.nets.distributions import ActionDistribution
from rle.tasks.base import TaskSpec
from rle.world import World

LOOKED_FOR_LATER = 2**25
"""How many numbers of observations may wait until it is known which of them ended an episode."""

MOST_WAITING = 2**14
"""How many numbers of observations may wait to be stored at once: a copy of few takes as long to ask for
as to make."""


class Rows(NamedTuple):
    """What happened in some consecutive steps: each field `[rows, N, ...]`."""

    observation: Tensor
    latent: Tensor | None
    policy_output: Tensor
    action: Tensor
    reward: Tensor
    terminated: Tensor
    truncated: Tensor
    next_observation: Tensor
    real: Tensor | None
    score: Tensor | None
    episode_over: Tensor | None
    bonus_cut: Tensor | None
    values: Tensor | None = None
    """Values of `observation`, if the network gave them while acting."""

    @classmethod
    def stack(cls, rows: Sequence[Rows]) -> Rows:
        """Rows `[N, ...]` of single steps, put together."""
        if len(rows) == 1:
            # A view: one row of images is not worth a copy.
            return cls(*(None if part is None else part[None] for part in rows[0]))  # type: ignore[arg-type]
        return cls._together(rows, torch.stack)

    @classmethod
    def joined(cls, blocks: Sequence[Rows]) -> Rows:
        """Rows `[rows, N, ...]` of consecutive blocks, one after the other."""
        return blocks[0] if len(blocks) == 1 else cls._together(blocks, torch.cat)

    @classmethod
    def _together(cls, rows: Sequence[Rows], join: Callable[..., Tensor]) -> Rows:
        if any(row.real is not None for row in rows):
            # A step in which all are real may stand beside one in which not all are.
            rows = [
                row._replace(real=torch.ones_like(row.terminated)) if row.real is None else row
                for row in rows
            ]
        columns = zip(*rows, strict=True)
        joined: Any = (None if column[0] is None else join(column) for column in columns)
        return cls(*joined)


class FinalObservations(NamedTuple):
    """The true last observations of episodes that ended in the rollout."""

    row: Tensor
    """int64 `[E]`, the step at which each ended."""
    env: Tensor
    """int64 `[E]`, the environment in which it did."""
    observation: Tensor
    """`[E, ...]`."""


class Rollout:
    """Everything the update needs of the last T steps, preallocated.

    The latent that conditioned an action stands beside the observation it was taken in. True next
    observations are not stored: they are the next row's, except where an episode ended.
    """

    def __init__(
        self,
        steps: int,
        spec: TaskSpec,
        distribution: ActionDistribution,
        latent_size: int,
        bonus_streams: int,
        device: torch.device,
        in_pieces: bool = False,
    ) -> None:
        """Room for `steps` steps.

        With `in_pieces` the update asks for few observations at a time: stacked frames may then be put
        together when they are asked for.
        """

        def buffer(rows: int, *shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
            return torch.zeros(rows, spec.num_envs, *shape, dtype=dtype, device=device)

        self.steps = steps
        shape, dtype = spec.observation_shape, spec.observation_dtype
        self._frames: StackedFrames | None = None
        # To tell which frames are new, a device's host would wait for it at every step.
        if in_pieces and spec.stacked_frames > 1 and device.type == "cpu":
            frames = spec.stacked_frames
            self._frames = StackedFrames(steps + 1, spec.num_envs, shape, frames, dtype)
        self._observation = buffer(steps + 1 if self._frames is None else 0, *shape, dtype=dtype)
        self.latent = buffer(steps + 1, latent_size)
        self.action = buffer(steps, *distribution.action_shape, dtype=distribution.action_dtype)
        self.policy_output = buffer(steps, distribution.output_size)
        self.reward = buffer(steps)
        self.score = buffer(steps)
        self.terminated = buffer(steps, dtype=torch.bool)
        self.truncated = buffer(steps, dtype=torch.bool)
        self.episode_over = buffer(steps, dtype=torch.bool)
        self.bonus = buffer(steps, bonus_streams)
        """Unscaled bonuses `[T, N, K]`, once the learner has asked for them."""
        self.bonus_cut = buffer(steps, bonus_streams, dtype=torch.bool)
        self._real = buffer(steps, dtype=torch.bool)
        self._all_real = True
        self._waiting: list[Rows] = []
        """Small blocks that are not stored yet."""
        self._first_waiting = 0
        """The row of the first of them."""
        self._finals: list[FinalObservations] = []
        # How many episodes ended only the device knows, and the host would wait for it at every write.
        self._most_later = 0 if device.type == "cpu" else LOOKED_FOR_LATER
        self._later: list[tuple[Tensor, Tensor]] = []
        """Of the last steps, where episodes ended and the true next observations."""
        self._first_later = 0
        """The row of the first of them."""
        self._values: list[Tensor] = []

    def begin(self) -> None:
        """Forget the previous rollout."""
        if self._frames is not None:
            self._frames.begin()
        self._waiting.clear()
        self._finals.clear()
        self._later.clear()
        self._values.clear()
        self._all_real = True

    def write(self, first: int, rows: Rows) -> None:
        """Store consecutive steps, the first of them at row `first`, at the latest with the last row."""
        if not self._waiting:
            self._first_waiting = first
        self._waiting.append(rows)
        full = first + len(rows.reward) == self.steps
        if full or sum(rows.observation.numel() for rows in self._waiting) > MOST_WAITING:
            self._store(self._first_waiting, Rows.joined(self._waiting))
            self._waiting.clear()

    def _store(self, first: int, rows: Rows) -> None:
        place = slice(first, first + len(rows.reward))
        if self._frames is None:
            self._observation[place] = rows.observation
        else:
            for row, observation in enumerate(rows.observation, start=first):
                self._frames.write(row, observation)
        if rows.latent is not None:
            self.latent[place] = rows.latent
        self.action[place] = rows.action
        self.policy_output[place] = rows.policy_output
        self.reward[place] = rows.reward
        self.score[place] = rows.reward if rows.score is None else rows.score
        self.terminated[place] = rows.terminated
        self.truncated[place] = rows.truncated
        ended = rows.terminated | rows.truncated
        self.episode_over[place] = ended if rows.episode_over is None else rows.episode_over
        if rows.bonus_cut is not None:
            self.bonus_cut[place] = rows.bonus_cut
        self._real[place] = True if rows.real is None else rows.real
        self._all_real &= rows.real is None
        if rows.values is not None:
            self._values.append(rows.values)
        if not self._later:
            self._first_later = first
        self._later.append((ended, rows.next_observation))
        if sum(shown.numel() for _, shown in self._later) > self._most_later:
            self._look_for_finals()

    def _look_for_finals(self) -> None:
        """Keep the true last observations of the steps that were not looked at yet."""
        if not self._later:
            return
        # One block is looked at as it is: images are not worth a copy.
        ended, shown = (
            parts[0] if len(parts) == 1 else torch.cat(parts)
            for parts in zip(*self._later, strict=True)
        )
        self._later.clear()
        row, env = ended.nonzero(as_tuple=True)
        if len(row):
            first = self._first_later
            self._finals.append(FinalObservations(row + first, env, shown[row, env]))

    def write_last(
        self, observation: Tensor, latent: Tensor | None, values: Tensor | None = None
    ) -> None:
        """Store the state after the last step, from which values are bootstrapped."""
        if self._frames is None:
            self._observation[-1] = observation
        else:
            self._frames.write(self.steps, observation)
        if values is not None:
            self._values.append(values[None])
        if latent is not None:
            self.latent[-1] = latent

    @property
    def observation(self) -> Tensor:
        """`[T + 1, N, ...]`; if frames are kept once, a copy, and a large one."""
        if self._frames is None:
            return self._observation
        every = torch.arange(self.reward.numel() + self.reward.shape[1])
        return self._frames[every].unflatten(0, (self.steps + 1, -1))

    @property
    def floating_observations(self) -> bool:
        """Whether observations are numbers that may be infinite, rather than bytes."""
        return self._observation.is_floating_point()

    def flat_observation(self) -> Tensor | StackedFrames:
        """What the flat numbers t · N + n of observations are looked up in, those after the last too."""
        return self._observation.flatten(0, 1) if self._frames is None else self._frames

    @property
    def real(self) -> Tensor | None:
        """Bool `[T, N]`: which rows are transitions; None if all are."""
        return None if self._all_real else self._real

    def real_among(self, world: World) -> tuple[Tensor | None, Tensor | None]:
        """The same `[T, N]` here and `[T, all environments]`; both None if all are, on all ranks."""
        if world.alone:
            return self.real, self.real
        everywhere = world.gather(self._real, 1)
        return (None, None) if bool(everywhere.all()) else (self._real, everywhere)

    @property
    def values(self) -> Tensor | None:
        """`[T + 1, N, K]`, the values of all states, if the network gave them while acting."""
        return torch.cat(self._values) if self._values else None

    def finals(self) -> FinalObservations | None:
        """The true last observations of all episodes that ended here."""
        self._look_for_finals()
        if not self._finals:
            return None
        if len(self._finals) > 1:
            joined = (torch.cat(parts) for parts in zip(*self._finals, strict=True))
            self._finals = [FinalObservations(*joined)]
        return self._finals[0]

    def next_observation(self) -> Tensor:
        """The true next observations `[T, N, ...]`."""
        finals = self.finals()
        if finals is None:
            return self.observation[1:]
        result = self.observation[1:].clone()
        result[finals.row, finals.env] = finals.observation
        return result

    def next_observation_at(self, index: Tensor) -> Tensor:
        """The true next observations `[b, ...]` of flat transitions t · N + n."""
        num_envs = self.reward.shape[1]
        result = self.flat_observation()[index + num_envs]
        finals = self.finals()
        if finals is not None:
            place = torch.full((self.steps * num_envs,), -1, device=index.device)
            place[finals.row * num_envs + finals.env] = torch.arange(
                len(finals.row), device=index.device
            )
            # Looked up for all, where it is one or not: how many are is nothing the host knows.
            place = place[index]
            ended = (place >= 0).reshape(-1, *(1 for _ in result.shape[1:]))
            result = torch.where(ended, finals.observation[place.clamp(min=0)], result)
        return result

    def transitions(self, index: Tensor | None = None) -> Transitions:
        """All transitions, or those that flat `index` t · N + n names, gathered when asked for."""
        latent = self.latent[:-1].flatten(0, 1) if self.latent.shape[-1] else None
        if index is None:
            return Transitions(
                self.observation[:-1].flatten(0, 1),
                self.action.flatten(0, 1),
                lambda: self.next_observation().flatten(0, 1),
                latent,
                self._order,
            )
        return Transitions(
            lambda: self.flat_observation()[index],
            lambda: self.action.flatten(0, 1)[index],
            lambda: self.next_observation_at(index),
            None if latent is None else lambda: latent[index],
            lambda: self._order().of(index),
        )

    def _order(self) -> Order:
        """Of all rows, transitions or not."""
        ended = (self.terminated | self.truncated).long()
        rows, envs = (torch.arange(size, device=ended.device) for size in ended.shape)
        row, env = torch.meshgrid(rows, envs, indexing="ij")
        episode = ended.cumsum(0) - ended
        return Order(row.flatten(), env.flatten(), episode.flatten(), (len(rows), len(envs)))
