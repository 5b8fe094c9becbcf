"""The one loop in which agents are watched: evaluation, films and trajectories are made of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, Protocol

import torch
from torch import Tensor

from rle.agents.agent import Agent
from rle.tasks.base import Step


class World(Protocol):
    """Where an agent can play: a task, or a filmed one."""

    def draw(self, steps: int) -> None:
        """Draw the randomness of the next `steps` steps at once."""

    def step(self, action: Tensor) -> Step:
        """Take one action in every environment."""


class Played(NamedTuple):
    """One step of N environments; observations as the world shows them, not normalised."""

    observation: Tensor
    """`[N, ...]`, what was acted on."""
    latent: Tensor | None
    """`[N, L]`, the strategy's latents that the actions were chosen under."""
    action: Tensor
    """`[N, ...]`."""
    step: Step
    """What came of it."""


@torch.no_grad()
def play(
    agent: Agent,
    world: World,
    observation: Tensor,
    noise: Iterator[Tensor],
    *,
    ahead: int,
    latents: Tensor | None = None,
    greedy: bool = False,
    perturb: bool = True,
) -> Iterator[Played]:
    """Let `agent` act in `world` without end, as it does in training; whoever asks for steps stops it.

    Args:
        observation: `[N, ...]`, what the world's reset gave.
        noise: the policy's randomness of each step, as from `agent.noise`.
        ahead: steps of a rollout: how many the world and the strategy draw randomness for at once.
        latents: `[N, d]`, what each environment follows all the way; None: as in training.
        greedy: take the most likely actions.
        perturb: let NoisyNet draw new noise for every rollout; without, it stays as it is.

    """
    strategy = agent.strategy
    agent.watch(greedy)
    strategy.serve(len(observation))
    if latents is not None:
        agent.follow(latents)
    strategy.start(agent.network)
    shown, steps = agent.show(observation), 0
    while True:
        if steps % ahead == 0:
            if perturb:
                strategy.begin_rollout(agent.network)
            strategy.draw(ahead)
            world.draw(ahead)
        steps += 1
        latent = strategy.latent()
        action = strategy.action(agent.choose(shown, latent, next(noise), greedy))
        step = world.step(action)
        seen = agent.see(step)
        strategy.after_step(seen)
        yield Played(observation, latent, action, step)
        observation, shown = step.observation, seen.observation
