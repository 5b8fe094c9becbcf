"""What a trained agent does: scores over fresh episodes, and trajectories under chosen latents."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from rle.checks import require
from rle.errors import UsageError
from rle.randomness import derive_seed, generator
from rle.runs.directory import RunDirectory, write_json
from rle.runs.episodes import Episode, EpisodeTracker
from rle.runs.finiteness import check_step
from rle.runs.handed_over import trainer_of
from rle.runs.trainer import Trainer
from rle.settings import replace
from rle.tasks.base import Task
from rle.tasks.handed_over import handed_over, is_found_by_name, size_of
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


def load_agent(run: RunDirectory, step: int | None = None, env: Any = None) -> Trainer:
    """The agent as it stood at checkpoint `step` (the latest if None), not to be trained on.

    `env` is what `train` was given, if that was an object.
    """
    config = replace(run.config(), {"compile": "off"})
    trainer = trainer_of(config, env)
    trainer.load_agent(run.load_checkpoint(step))
    return trainer


def evaluate(
    path: Path | str,
    episodes: int = 32,
    *,
    step: int | None = None,
    greedy: bool = False,
    seed: int = 0,
    env: Any = None,
) -> Evaluation:
    """Play `episodes` fresh episodes with the agent of a run; the result is also written to `eval.json`.

    Actions are sampled and latents drawn as in training, from generators of their own; `greedy` takes
    the most likely action instead. `env` is what `train` was given, if that was an object.
    """
    require(episodes > 0, f"episodes is {episodes}: give a number above 0.")
    run = RunDirectory.open(path)
    agent = load_agent(run, step, env)
    with torch.no_grad():
        finished = _play(agent, _fresh_task(agent, episodes, env), episodes, greedy, seed)
    result = Evaluation(
        agent.step,
        tuple(episode.score for episode in finished),
        tuple(episode.length for episode in finished),
        greedy,
    )
    write_json(run.path / "eval.json", dataclasses.asdict(result) | {"mean": result.mean})
    return result


def _fresh_task(agent: Trainer, episodes: int, env: Any) -> Task:
    """The agent's task once more, with no more environments than episodes; or that very one."""
    config, task = agent.config, agent.task
    num_envs = min(config.environment.num_envs, episodes)
    environment = dataclasses.replace(config.environment, num_envs=num_envs)
    if is_found_by_name(config.task):
        threads = config.machine.engine_threads
        task = make_task(config.task, environment, agent.device, engine_threads=threads)
    elif size_of(env) is None:
        task = handed_over(env, config.task, environment, agent.device)
    task.share_statistics(agent.task)
    return task


def _play(agent: Trainer, task: Task, episodes: int, greedy: bool, seed: int) -> list[Episode]:
    """Each environment contributes the same number of episodes, so that short ones do not crowd in."""
    config, num_envs = agent.config, task.spec.num_envs
    strategy, network, distribution = agent.strategy, agent.network, agent.distribution
    strategy.reseed(derive_seed(seed, "evaluation"))
    strategy.evaluate(greedy)
    strategy.serve(num_envs)
    strategy.start(network)
    observation = task.reset(derive_seed(seed, "evaluation"))
    tracker = EpisodeTracker(num_envs)
    source = generator(seed, "evaluation")
    wanted = -(-episodes // num_envs)
    per_env: list[list[Episode]] = [[] for _ in range(num_envs)]
    steps = 0
    while min(len(kept) for kept in per_env) < wanted:
        if steps % config.learner.rollout_steps == 0:
            strategy.begin_rollout(network)
            strategy.draw(config.learner.rollout_steps)
            task.draw(config.learner.rollout_steps)
        steps += 1
        noise = distribution.draw_noise((num_envs,), source).to(agent.device)
        output = network.policy(observation, strategy.network_input(strategy.latent()))
        action = distribution.mode(output) if greedy else distribution.sample(output, noise)
        outcome = task.step(strategy.action(action))
        check_step(config.task, outcome, f"step {steps * num_envs:,} of the evaluation")
        strategy.after_step(outcome)
        observation = outcome.observation
        over = outcome.episode_over
        ended = outcome.terminated | outcome.truncated if over is None else over
        score = outcome.reward if outcome.score is None else outcome.score
        real = None if outcome.real is None else outcome.real[None]
        for episode in tracker.take(score[None], ended[None], real):
            per_env[episode.env].append(episode)
    task.close()
    in_order = [kept[number] for number in range(wanted) for kept in per_env]
    return in_order[:episodes]


@torch.no_grad()
def trajectories(
    agent: Trainer, latents: Tensor | None, steps: int, count: int, seed: int = 0
) -> tuple[Task, Tensor]:
    """`count` trajectories from the start, `[steps + 1, count, ...]` true observations.

    Environment i follows `latents[i]` `[count, L]` all the way; None for agents without latents.
    """
    config = replace(agent.config, {"environment.num_envs": count}).environment
    threads = agent.config.machine.engine_threads
    task = make_task(agent.config.task, config, agent.device, engine_threads=threads)
    task.share_statistics(agent.task)
    if latents is not None and len(latents) != count:
        raise UsageError(f"{len(latents)} latents were given for {count} trajectories.")
    source = generator(seed, "trajectories")
    observation = task.reset(derive_seed(seed, "trajectories"))
    seen = [observation]
    task.draw(steps)
    agent.strategy.serve(count)
    agent.strategy.draw(steps)
    noise = agent.distribution.draw_noise((steps, count), source).to(agent.device)
    for row_noise in noise.unbind(0):
        output = agent.network.policy(observation, agent.strategy.network_input(latents))
        chosen = agent.distribution.sample(output, row_noise)
        outcome = task.step(agent.strategy.action(chosen))
        seen.append(outcome.next_observation)
        observation = outcome.observation
    return task, torch.stack(seen)
