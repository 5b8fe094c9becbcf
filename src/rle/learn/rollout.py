"""Storage of one rollout: T steps of N environments, each observation kept once."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from rle.nets.distributions import ActionDistribution
from rle.tasks.base import Step, TaskSpec


class FinalObservations(NamedTuple):
    """The true last observations of episodes that ended in the rollout."""

    row: Tensor
    """int64 `[E]`, the step at which each ended."""
    env: Tensor
    """int64 `[E]`, the environment in which it did."""
    observation: Tensor
    """`[E, ...]`."""


class Rollout:
    """Everything the update needs of the last T steps, preallocated and written row by row.

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
    ) -> None:
        def buffer(rows: int, *shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
            return torch.zeros(rows, spec.num_envs, *shape, dtype=dtype, device=device)

        self.steps = steps
        self.observation = buffer(steps + 1, *spec.observation_shape, dtype=spec.observation_dtype)
        self.latent = buffer(steps + 1, latent_size)
        self.action = buffer(steps, *distribution.action_shape, dtype=distribution.action_dtype)
        self.policy_output = buffer(steps, distribution.output_size)
        self.reward = buffer(steps)
        self.score = buffer(steps)
        self.terminated = buffer(steps, dtype=torch.bool)
        self.truncated = buffer(steps, dtype=torch.bool)
        self.episode_over = buffer(steps, dtype=torch.bool)
        self.bonus_cut = buffer(steps, bonus_streams, dtype=torch.bool)
        self._real = buffer(steps, dtype=torch.bool)
        self._all_real = True
        self._finals: list[FinalObservations] = []
        # Rows as ready-made views: indexing a tensor anew at every step costs more than the copy.
        self._rows = {
            name: getattr(self, name).unbind(0)
            for name in (
                "observation",
                "latent",
                "action",
                "policy_output",
                "reward",
                "score",
                "terminated",
                "truncated",
                "episode_over",
                "bonus_cut",
                "_real",
            )
        }

    def begin(self) -> None:
        """Forget the previous rollout."""
        self._finals.clear()
        self._all_real = True

    def write_state(self, row: int, observation: Tensor, latent: Tensor | None) -> None:
        """What the action of `row` is (or would be) taken on."""
        self._rows["observation"][row].copy_(observation)
        if latent is not None:
            self._rows["latent"][row].copy_(latent)

    def write_outcome(
        self, row: int, action: Tensor, policy_output: Tensor, step: Step, cut: Tensor | None
    ) -> None:
        """What was done in `row`, and what came of it."""
        rows = self._rows
        rows["action"][row].copy_(action)
        rows["policy_output"][row].copy_(policy_output)
        rows["reward"][row].copy_(step.reward)
        rows["terminated"][row].copy_(step.terminated)
        rows["truncated"][row].copy_(step.truncated)
        if cut is not None:
            rows["bonus_cut"][row].copy_(cut)
        rows["score"][row].copy_(step.reward if step.score is None else step.score)
        if step.real is not None:
            rows["_real"][row].copy_(step.real)
            self._all_real = False
        else:
            rows["_real"][row].fill_(True)
        # A task hands out one and the same tensor while no episode ends, unless the call that resets
        # comes later: then some rows are not real.
        if step.real is not None or step.next_observation is not step.observation:
            self._keep_finals(row, step)
        over = step.episode_over
        rows["episode_over"][row].copy_(step.terminated | step.truncated if over is None else over)

    def _keep_finals(self, row: int, step: Step) -> None:
        (env,) = (step.terminated | step.truncated).nonzero(as_tuple=True)
        if len(env):
            final = step.next_observation.index_select(0, env)
            self._finals.append(FinalObservations(torch.full_like(env, row), env, final))

    @property
    def real(self) -> Tensor | None:
        """Bool `[T, N]`: which rows are transitions; None if all are."""
        return None if self._all_real else self._real

    def finals(self) -> FinalObservations | None:
        """The true last observations of all episodes that ended here."""
        if not self._finals:
            return None
        return FinalObservations(*(torch.cat(parts) for parts in zip(*self._finals, strict=True)))

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
        result = self.observation.flatten(0, 1)[index + num_envs]
        finals = self.finals()
        if finals is not None:
            place = torch.full((self.steps * num_envs,), -1, device=index.device)
            place[finals.row * num_envs + finals.env] = torch.arange(
                len(finals.row), device=index.device
            )
            (ended,) = (place[index] >= 0).nonzero(as_tuple=True)
            result[ended] = finals.observation[place[index[ended]]]
        return result
