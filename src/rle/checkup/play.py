"""Random actions in a task, and what they show: the samples that are judged before training."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from rle.agents.agent import Agent
from rle.explore.transitions import Transitions
from rle.randomness import derive_seed, generator
from rle.runs.episodes import EpisodeTracker
from rle.tasks.base import Step, Task, random_actions

KEPT_NUMBERS = 2**25
"""How many numbers of observations are kept: all of vectors, every some steps of images."""
KEPT_ENDS = 256
"""In how many steps the ends of episodes are kept."""
STARTS = 32
"""How many first observations are looked at, at least: enough to know how episodes begin."""
REPEATED_STEPS = 32
"""For how many steps the same seed must lead to the same."""


class Ends(NamedTuple):
    """Around the ends of E episodes, as the environment shows it: each `[E, size]`."""

    before: Tensor
    """What the last action was taken on."""
    last: Tensor
    """The true last observation, as the task has it."""


class Played(NamedTuple):
    """What was seen in T steps of N environments."""

    observations: Tensor
    """`[B, ...]`, true next observations as the networks see them; what φ is shown."""
    reward: Tensor
    """`[T, N]`."""
    ended: Tensor
    """bool `[T, N]`, terminated or truncated."""
    real: Tensor
    """bool `[T, N]`: False where a call only reset an environment."""
    bonus: Tensor
    """`[T', N, K]`, unscaled, of the last T' of them: those after the strategy's warm-up."""
    cut: Tensor
    """bool `[T', N, K]`, where the bonus's return is cut."""
    ends: Ends | None
    """None if no episode ended."""
    lengths: list[int]
    """Of the episodes that ended."""


def first_observations(task: Task, seed: int) -> Tensor:
    """`[at least STARTS, size]`: how episodes begin, under several seeds."""
    resets = -(-STARTS // task.spec.num_envs)
    seeds = (derive_seed(seed, f"start {index}") for index in range(resets))
    return torch.cat([task.reset(each).flatten(1) for each in seeds])


def repeats_itself(task: Task, seed: int, device: torch.device) -> bool:
    """Whether the same seed and the same actions lead to the same observations and rewards."""
    first, second = (_some_steps(task, seed, device) for _ in range(2))
    return all(
        torch.equal(one.nan_to_num(), other.nan_to_num())
        for one, other in zip(first, second, strict=True)
    )


def _some_steps(task: Task, seed: int, device: torch.device) -> list[Tensor]:
    source, spec = generator(seed, "repeated actions"), task.spec
    seen = [task.reset(derive_seed(seed, "task")).clone()]
    for _ in range(REPEATED_STEPS):
        task.draw(1)
        step = task.step(random_actions(spec.action_space, spec.num_envs, source).to(device))
        seen += [step.next_observation.clone(), step.reward]
    return [part.float() for part in seen]


@torch.no_grad()
def play(task: Task, agent: Agent, rows: int, seed: int) -> Played:
    """Take `rows` random actions in every environment.

    `task` shows observations as they are; the agent's normaliser learns from them. A strategy that
    warms up does so in the first half.
    """
    spec, strategy = task.spec, agent.strategy
    source = generator(seed, "check")
    numbers = rows * spec.num_envs * max(1, torch.Size(spec.observation_shape).numel())
    every = -(-numbers // KEPT_NUMBERS)
    warm_up = rows // 2 if strategy.warmup_rollouts else 0
    steps: list[Step] = []
    kept: list[Tensor] = []
    bonuses: list[Tensor] = []
    cuts: list[Tensor] = []
    before: list[Tensor] = []
    last: list[Tensor] = []
    strategy.start(agent.network)
    strategy.begin_rollout(agent.network)
    observation = task.reset(derive_seed(seed, "task"))
    shown = agent.show(observation)
    for row in range(rows):
        task.draw(1)
        strategy.draw(1)
        latent = strategy.latent()
        action = random_actions(spec.action_space, spec.num_envs, source).to(agent.device)
        step = task.step(action)
        if agent.normaliser is not None:
            agent.normaliser.learn(step.next_observation, step.real)
        seen = agent.see(step)
        cut = strategy.after_step(seen)
        if row < warm_up:
            # What is not finite ends a run, but not this: the rest is judged as if it were not there.
            good = seen.next_observation.flatten(1).float().isfinite().all(-1)
            good = good if seen.real is None else good & seen.real
            if good.any():
                parts = (shown[good], action[good], seen.next_observation[good])
                strategy.warm_up(0, Transitions(*parts))
        elif strategy.streams:
            transitions = Transitions(shown, action, seen.next_observation, latent)
            bonuses.append(strategy.bonus(transitions))
            cuts.append(torch.zeros_like(bonuses[-1]).bool() if cut is None else cut)
        ended = step.terminated | step.truncated
        if ended.any() and len(before) < KEPT_ENDS:
            before.append(observation[ended].flatten(1))
            last.append(step.next_observation[ended].flatten(1))
        if row % every == 0:
            real = seen.real
            kept.append(seen.next_observation if real is None else seen.next_observation[real])
        nothing = torch.zeros(0)
        steps.append(step._replace(next_observation=nothing, observation=nothing))
        observation, shown = step.observation, seen.observation
    return _put_together(steps, kept, bonuses, cuts, Ends(*map(_joined, (before, last))))


def _put_together(
    steps: list[Step], kept: list[Tensor], bonuses: list[Tensor], cuts: list[Tensor], ends: Ends
) -> Played:
    reward = torch.stack([step.reward for step in steps])
    ended = torch.stack([step.terminated | step.truncated for step in steps])
    every = torch.ones_like(ended[0])
    real = torch.stack([every if step.real is None else step.real for step in steps])
    tracker = EpisodeTracker(reward.shape[1])
    return Played(
        torch.cat(kept),
        reward,
        ended,
        real,
        torch.stack(bonuses) if bonuses else reward.new_zeros(0, reward.shape[1], 0),
        torch.stack(cuts) if cuts else ended.new_zeros(0, reward.shape[1], 0),
        ends if len(ends.last) else None,
        [episode.length for episode in tracker.take(reward, ended, real)],
    )


def _joined(parts: list[Tensor]) -> Tensor:
    return torch.cat(parts) if parts else torch.zeros(0, 0)
