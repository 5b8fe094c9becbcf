"""Observation normalisation for any task of vectors, with its statistics in the checkpoint."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from rle.core.moments import RunningMoments
from rle.tasks.base import Picture, State, Step, Task

EPSILON = 1e-8


class NormalisedTask(Task):
    """Shows (observation - mean) / deviation, clipped; both run over everything seen so far.

    What the task has declared to be fit as it is stays so. A number that is not finite is shown as
    NaN, where it came from and nowhere else: whoever checks the run can then say where that was.
    """

    def __init__(self, task: Task, clip: float, device: torch.device) -> None:
        self.spec = dataclasses.replace(task.spec, observation_dtype=torch.float32)
        self.steps_per_second = task.steps_per_second
        self.shown = task
        """The task whose observations are normalised."""
        self.as_is = task.as_is
        self._clip = clip
        self._frozen = False
        self._moments = RunningMoments(task.spec.observation_shape, device)
        self._take_in: Callable[..., tuple[Tensor, Tensor]] = self._learn_and_show

    def reset(self, seed: int) -> Tensor:
        return self._show(self.shown.reset(seed))

    def draw(self, steps: int) -> None:
        self.shown.draw(steps)

    def step(self, action: Tensor) -> Step:
        step = self.shown.step(action)
        same = step.observation is step.next_observation
        next_observation, observation = self._take_in(
            step.next_observation, None if same else step.observation, step.real
        )
        return step._replace(next_observation=next_observation, observation=observation)

    def _learn_and_show(
        self, next_observation: Tensor, observation: Tensor | None, real: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        """Both as they are shown, after the real ones of the first have counted."""
        if not self._frozen:
            # In the place of what is not finite, what changes the mean least.
            mean = self._moments.mean.to(next_observation.dtype)
            finite = torch.where(next_observation.isfinite(), next_observation, mean)
            self._moments.update(finite, real)
        shown = self._show(next_observation)
        return shown, shown if observation is None else self._show(observation)

    def compile(self, compiled: Callable[[Callable[..., Any]], Callable[..., Any]]) -> None:
        self._take_in = compiled(self._learn_and_show)

    def _show(self, observation: Tensor) -> Tensor:
        mean, deviation = self._moments.mean.float(), self._moments.deviation.float()
        shown = ((observation - mean) / (deviation + EPSILON)).clamp(-self._clip, self._clip)
        if self.as_is is not None:
            shown = torch.where(self.as_is, observation, shown)
        return torch.where(observation.isfinite(), shown, torch.nan)

    def load_statistics(self, state: State) -> None:
        self._moments.load_state_dict(state["moments"])

    def share_statistics(self, other: Task) -> None:
        assert isinstance(other, NormalisedTask)
        self._moments.load_state_dict(other._moments.state_dict())
        self._frozen = True

    def measures(self) -> dict[str, float]:
        return self.shown.measures()

    def artefacts(self) -> dict[str, Tensor]:
        return self.shown.artefacts()

    def picture(self) -> Picture:
        return self.shown.picture()

    def state_dict(self) -> State:
        return {"task": self.shown.state_dict(), "moments": self._moments.state_dict()}

    def load_state_dict(self, state: State) -> None:
        self.shown.load_state_dict(state["task"])
        self.restarted = self.shown.restarted
        self._moments.load_state_dict(state["moments"])

    def close(self) -> None:
        self.shown.close()
