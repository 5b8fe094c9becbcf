"""What PPO makes of a rollout, once more in plain Python: one environment and one step at a time.

Slow, and with no axes to confuse. It reads what happened from the steps themselves, not from the
rollout's storage.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from rle.runs.trainer import Trainer
from rle.tasks.base import Step


class Moment(NamedTuple):
    """One step of all environments."""

    observation: Tensor
    """What was acted on."""
    latent: Tensor | None
    """What the action was taken under."""
    step: Step
    cut: Tensor | None
    """Which bonus returns the strategy said end here."""

    def real(self, env: int) -> bool:
        return self.step.real is None or bool(self.step.real[env])


class History(NamedTuple):
    """A rollout as it happened, and where it led."""

    moments: list[Moment]
    observation: Tensor
    latent: Tensor | None

    def rewards(self) -> Tensor:
        """The task's, `[T, N]`."""
        return torch.stack([moment.step.reward for moment in self.moments])

    def ends(self) -> Tensor:
        """Where episodes end, `[T, N]`."""
        steps = [moment.step for moment in self.moments]
        return torch.stack([step.terminated | step.truncated for step in steps])

    def cuts(self, stream: int) -> Tensor:
        """Where a bonus stream is cut, `[T, N]`."""
        if self.moments[0].cut is None:
            return torch.zeros_like(self.ends())
        return torch.stack([moment.cut[:, stream] for moment in self.moments])


def collected(trainer: Trainer) -> History:
    """Let the trainer collect a rollout and write down every step."""
    strategy, moments = trainer.strategy, []
    observation = trainer._observation.clone()
    after_step = strategy.after_step

    def write_down(step: Step) -> Tensor | None:
        nonlocal observation
        latent = strategy.latent()
        latent = None if latent is None else latent.clone()
        cut = after_step(step)
        kept = Step(*(None if part is None else part.clone() for part in step))
        moments.append(Moment(observation, latent, kept, cut))
        observation = kept.observation
        return cut

    strategy.after_step = write_down  # type: ignore[method-assign]
    trainer.collect()
    strategy.after_step = after_step  # type: ignore[method-assign]
    return History(moments, observation, strategy.latent())


class PlainStream:
    """One stream's rewards on their way to advantages."""

    def __init__(self, discount: float, num_envs: int) -> None:
        self.discount = discount
        self.running = [0.0] * num_envs
        self.sums: list[float] = []

    def scaled(
        self, history: History, reward: Tensor, stop: Tensor
    ) -> dict[tuple[int, int], float]:
        """Rewards of the real transitions (t, n), divided by the deviation of all sums so far.

        `reward` and `stop`, `[T, N]`, say what was earned and where the sum starts again.
        """
        rewards = {}
        for n in range(len(self.running)):
            for t, moment in enumerate(history.moments):
                if moment.real(n):
                    rewards[t, n] = float(reward[t, n])
                    self.running[n] = rewards[t, n] + self.discount * self.running[n]
                    self.sums.append(self.running[n])
                    if bool(stop[t, n]):
                        self.running[n] = 0.0
        mean = sum(self.sums) / len(self.sums)
        variance = sum((value - mean) ** 2 for value in self.sums) / len(self.sums)
        return {place: value / (variance + 1e-8) ** 0.5 for place, value in rewards.items()}


def advantages_of_stream(
    trainer: Trainer,
    history: History,
    head: int,
    discount: float,
    rewards: dict[tuple[int, int], float],
) -> dict[tuple[int, int], float]:
    """Generalised advantages of the real transitions (t, n) under value head `head`; 0 is the task's."""

    def values(observation: Tensor, latent: Tensor | None) -> list[float]:
        seen = trainer.strategy.network_input(latent)
        return trainer.network.value(observation, seen)[:, head].tolist()

    here = [values(moment.observation, moment.latent) for moment in history.moments]
    true_next = [values(moment.step.next_observation, moment.latent) for moment in history.moments]
    last = values(history.observation, history.latent)
    decay = discount * trainer.config.learner.gae_lambda
    result = {}
    for n in range(trainer.task.spec.num_envs):
        # Of the real transition that comes next: its advantage, and the value of where it starts.
        advantage, value_after = 0.0, last[n]
        for t in reversed(range(len(history.moments))):
            moment = history.moments[t]
            if not moment.real(n):
                continue
            terminated, truncated = bool(moment.step.terminated[n]), bool(moment.step.truncated[n])
            if head > 0:
                goes_on = moment.cut is None or not bool(moment.cut[n, head - 1])
                bootstrap = value_after if goes_on else 0.0
            else:
                goes_on = not (terminated or truncated)
                bootstrap = true_next[t][n] if truncated else value_after
                bootstrap = 0.0 if terminated else bootstrap
            delta = rewards[t, n] + discount * bootstrap - here[t][n]
            advantage = delta + (decay * advantage if goes_on else 0.0)
            value_after = here[t][n]
            result[t, n] = advantage
    return result
