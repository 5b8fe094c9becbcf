"""What a trained agent does: scores over fresh episodes, and trajectories under chosen latents."""

from __future__ import annotations

import dataclasses
import itertools
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from rle.agents.agent import Agent
from rle.agents.play import play
from rle.checks import require
from rle.errors import UsageError
from rle.randomness import derive_seed, generator
from rle.runs.directory import EVALUATION, RunDirectory, write_json
from rle.runs.episodes import Episode, EpisodeTracker
from rle.runs.failure import kept
from rle.runs.finiteness import check_step
from rle.runs.loading import load
from rle.runs.trust import require_trust_to_play
from rle.tasks.asked import Asked
from rle.tasks.base import Task
from rle.tasks.handed_over import handed_over, is_found_by_name, require_same, size_of
from rle.tasks.registry import make_task


@dataclass(frozen=True)
class Evaluation:
    """Scores of fresh episodes of a trained agent."""

    checkpoint_step: int
    scores: tuple[float, ...]
    lengths: tuple[int, ...]
    greedy: bool

    @property
    def mean(self) -> float:
        """Mean score."""
        return sum(self.scores) / len(self.scores)


def evaluate(
    path: Path | str,
    episodes: int = 32,
    *,
    step: int | None = None,
    greedy: bool = False,
    seed: int = 0,
    env: Any = None,
    trust: bool = False,
) -> Evaluation:
    """Play `episodes` fresh episodes with the agent of a run; the result is also written to `eval.json`.

    What stood there, if it was another result, is kept as `eval-1.json`, `eval-2.json` and so on.
    Actions are sampled and latents drawn as in training, from generators of their own; `greedy` takes
    the most likely action instead. `env` is what `train` was given, if that was an object. `trust`
    runs code of others that the run names; said once, it is remembered.
    """
    require(episodes > 0, f"episodes is {episodes}: give a number above 0.")
    run = RunDirectory.open(path)
    require_trust_to_play(run, trust, env)
    agent = load(run, step)
    use_threads(agent)
    # An object that steps many environments at once has as many as it has.
    num_envs = size_of(env) or min(agent.config.environment.num_envs, episodes)
    task = Asked(agent.config.task, task_to_play(agent, num_envs, env))
    with kept(run.path):
        finished = _play_episodes(agent, task, episodes, greedy, seed)
    result = Evaluation(
        agent.trained_steps,
        tuple(episode.score for episode in finished),
        tuple(episode.length for episode in finished),
        greedy,
    )
    values = dataclasses.asdict(result) | {"mean": result.mean}
    write_json(run.path / EVALUATION, values, keep_old=True)
    return result


def use_threads(agent: Agent) -> None:
    """Compute with as many threads as in training: with others, sums are rounded differently."""
    if agent.config.machine.threads:
        torch.set_num_threads(agent.config.machine.threads)


def task_to_play(agent: Agent, num_envs: int, env: Any = None) -> Task:
    """The agent's task with other environments than in training; observations are not normalised.

    `env` is what `train` was given, if that was an object.
    """
    config = agent.config
    if env is not None:
        require_same(env, config.task)
    # Observations as they are: the agent knows how it sees them.
    environment = dataclasses.replace(
        config.environment, num_envs=num_envs, normalise_observations=False
    )
    if env is not None and not is_found_by_name(config.task):
        return handed_over(env, config.task, environment, agent.device)
    threads = config.machine.engine_threads
    return make_task(config.task, environment, agent.device, engine_threads=threads)


def _play_episodes(
    agent: Agent, task: Task, episodes: int, greedy: bool, seed: int
) -> list[Episode]:
    """Each environment contributes the same number of episodes, so that short ones do not crowd in."""
    num_envs = task.spec.num_envs
    own_seed = derive_seed(seed, "evaluation")
    agent.strategy.reseed(own_seed)
    tracker = EpisodeTracker(num_envs)
    wanted = -(-episodes // num_envs)
    per_env: list[list[Episode]] = [[] for _ in range(num_envs)]
    steps = play(
        agent,
        task,
        task.reset(own_seed),
        agent.noise(num_envs, generator(seed, "evaluation")),
        ahead=agent.config.learner.rollout_steps,
        greedy=greedy,
    )
    for number, played in enumerate(steps, start=1):
        step = played.step
        taken = {"observation": played.observation, "action": played.action}
        check_step(agent.config.task, step, number * num_envs, "the evaluation", taken)
        over = step.episode_over
        ended = step.terminated | step.truncated if over is None else over
        score = step.reward if step.score is None else step.score
        real = None if step.real is None else step.real[None]
        for episode in tracker.take(score[None], ended[None], real):
            per_env[episode.env].append(episode)
        if min(len(kept) for kept in per_env) >= wanted:
            break
    task.close()
    in_order = [kept[number] for number in range(wanted) for kept in per_env]
    return in_order[:episodes]


def trajectories(
    agent: Agent, latents: Tensor | None, steps: int, count: int, seed: int = 0
) -> tuple[Task, Tensor]:
    """`count` trajectories from the start, `[steps + 1, count, ...]` true observations.

    Environment i follows `latents[i]` `[count, d]` all the way; None for agents without latents. The
    noise of NoisyNet's weights stays as it is.
    """
    if latents is not None and len(latents) != count:
        raise UsageError(f"{len(latents)} latents were given for {count} trajectories.")
    task = task_to_play(agent, count)
    observation = task.reset(derive_seed(seed, "trajectories"))
    made = play(
        agent,
        task,
        observation,
        agent.noise(count, generator(seed, "trajectories"), steps),
        ahead=steps,
        latents=latents,
        perturb=False,
    )
    seen = [played.step.next_observation for played in itertools.islice(made, steps)]
    return task, torch.stack([observation, *seen])
