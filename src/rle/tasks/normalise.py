"""Observation normalisation for any task of vectors, with its statistics in the checkpoint."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from rle.core.running_mean_std import RunningMeanStd
from rle.tasks.base import Picture, State, Step, Task, check_shape
from rle.world import World

EPSILON = 1e-8


class ObservationNormaliser:
    """(observation - mean) / deviation, clipped; both run over everything it has learned from.

    A task in training learns it, and the agent that acts in the task knows it. What is declared to be
    fit `as_is` stays so. A number that is not finite is shown as NaN, where it came from and nowhere
    else: whoever checks the run can then say where that was.
    """

    def __init__(
        self,
        shape: tuple[int, ...],
        clip: float,
        device: torch.device,
        as_is: Tensor | None = None,
    ) -> None:
        self.moments = RunningMeanStd(shape, device)
        self.as_is = None if as_is is None else as_is.to(device)
        self._clip = clip

    def learn(self, observation: Tensor, real: Tensor | None) -> None:
        """Take in the `real` ones of observations `[N, ...]`."""
        self.moments.update(self._usable(observation), real)

    def seen(self, observation: Tensor, real: Tensor | None) -> RunningMeanStd:
        """The same, but apart from what was learned before, for `merge`."""
        seen = RunningMeanStd(tuple(self.moments.mean.shape), self.moments.mean.device)
        seen.update(self._usable(observation), real)
        return seen

    def _usable(self, observation: Tensor) -> Tensor:
        # In the place of what is not finite, what changes the mean least.
        mean = self.moments.mean.to(observation.dtype)
        return torch.where(observation.isfinite(), observation, mean)

    def show(self, observation: Tensor) -> Tensor:
        """Observations `[N, ...]` as the networks see them."""
        mean, std = self.moments.mean.float(), self.moments.std.float()
        shown = ((observation - mean) / (std + EPSILON)).clamp(-self._clip, self._clip)
        if self.as_is is not None:
            shown = torch.where(self.as_is, observation, shown)
        return torch.where(observation.isfinite(), shown, torch.nan)

    def state_dict(self) -> State:
        return self.moments.state_dict()

    def load_state_dict(self, state: State) -> None:
        self.moments.load_state_dict(state)


class NormalisedTask(Task):
    """Shows what a normaliser makes of a task's observations, and lets it learn from them first."""

    def __init__(self, task: Task, clip: float, device: torch.device) -> None:
        self.spec = dataclasses.replace(task.spec, observation_dtype=torch.float32)
        self.steps_per_second = task.steps_per_second
        self.shown = task
        """The task whose observations are normalised."""
        self.as_is = task.as_is
        self.splits = task.splits
        self.per_environment = tuple(f"task/{name}" for name in task.per_environment)
        self.summed = tuple(f"task/{name}" for name in task.summed)
        self._shape = (task.spec.num_envs, *task.spec.observation_shape)
        self.normaliser = ObservationNormaliser(
            task.spec.observation_shape, clip, device, task.as_is
        )
        self._take_in: Callable[..., tuple[Tensor, Tensor]] = self._learn_and_show

    def join(self, world: World) -> None:
        super().join(world)
        self.shown.join(world)

    def reset(self, seed: int) -> Tensor:
        observation = self.shown.reset(seed)
        check_shape("observations", observation, self._shape)
        return self.normaliser.show(observation)

    def draw(self, steps: int) -> None:
        self.shown.draw(steps)

    def step(self, action: Tensor) -> Step:
        step = self.shown.step(action)
        # Others would be stretched to it, and nobody would notice.
        check_shape("observations", step.next_observation, self._shape)
        check_shape("observations", step.observation, self._shape)
        same = step.observation is step.next_observation
        next_observation, observation = self._take_in(
            step.next_observation, None if same else step.observation, step.real
        )
        return step._replace(next_observation=next_observation, observation=observation)

    def _learn_and_show(
        self, next_observation: Tensor, observation: Tensor | None, real: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        """Both as they are shown, after the real ones of the first have counted."""
        if self.world.alone:
            self.normaliser.learn(next_observation, real)
        else:
            # All ranks show by what all have seen, at every step, as one would.
            seen = self.normaliser.seen(next_observation, real)
            self.normaliser.moments.merge(self.world.pool(seen))
        shown = self.normaliser.show(next_observation)
        return shown, shown if observation is None else self.normaliser.show(observation)

    def compile(self, compiled: Callable[[Callable[..., Any]], Callable[..., Any]]) -> None:
        # What ranks tell each other cannot be compiled.
        if self.world.alone:
            self._take_in = compiled(self._learn_and_show)

    def measures(self) -> dict[str, float]:
        return self.shown.measures()

    def artefacts(self) -> dict[str, Tensor]:
        return self.shown.artefacts()

    def busy(self) -> int | None:
        return self.shown.busy()

    def picture(self) -> Picture:
        return self.shown.picture()

    def state_dict(self) -> State:
        return {"task": self.shown.state_dict(), "moments": self.normaliser.state_dict()}

    def load_state_dict(self, state: State) -> None:
        self.shown.load_state_dict(state["task"])
        self.restarted = self.shown.restarted
        self.normaliser.load_state_dict(state["moments"])

    def close(self) -> None:
        self.shown.close()
