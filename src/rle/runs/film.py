"""A trained agent on video: one clip per z, with z, bonus and score beside the picture."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from rle.checks import require
from rle.explore.mixture import latent_strategy
from rle.explore.transitions import Transitions
from rle.randomness import derive_seed, generator
from rle.runs.clip import Clip, Moment
from rle.runs.directory import RunDirectory, make_folder
from rle.runs.evaluate import load_agent
from rle.runs.trainer import Trainer
from rle.tasks.base import Picture
from rle.tasks.film import Filmed, filmed


@dataclass(frozen=True)
class Film:
    """What was filmed."""

    path: Path
    score: float
    """Of the episodes' parts that are on the clip."""


def film(
    path: Path | str,
    out: Path | str,
    *,
    clips: int = 4,
    seconds: float = 30.0,
    step: int | None = None,
    greedy: bool = False,
    seed: int = 0,
) -> list[Film]:
    """Write `clips` videos of a run's agent into `out`, each under another z, and return them.

    A clip ends with the game, or after `seconds` of play. Agents without z play under other random
    numbers in each clip.
    """
    require(clips > 0, f"clips is {clips}: give a number above 0.")
    require(seconds > 0, f"seconds is {seconds}: give a number above 0.")
    run = RunDirectory.open(path)
    agent = load_agent(run, step)
    stage = filmed(agent.config.task, agent.config.environment)
    stage.share_statistics(agent.task)
    agent.strategy.evaluate(greedy)
    latents = _latents(agent, clips, seed)
    folder = Path(out)
    make_folder(folder, "--video")
    films = []
    try:
        for number in range(clips):
            z = None if latents is None else latents[number]
            title = f"{agent.config.task}  {agent.config.explore}  {agent.step:,} steps"
            name = folder / f"{'z' if z is not None else 'clip'}-{number}.mp4"
            with Clip(name, stage.frames_per_second, title, z) as clip:
                score = 0.0
                for pictures, moment in _play(agent, stage, z, seconds, greedy, (seed, number)):
                    score = moment.score
                    clip.write(pictures, moment)
            films.append(Film(name, score))
    finally:
        stage.close()
    return films


def _latents(agent: Trainer, count: int, seed: int) -> Tensor | None:
    strategy = latent_strategy(agent.strategy)
    if strategy is None:
        return None
    return strategy.draw_latents(count, generator(seed, "film latents"))


@torch.no_grad()
def _play(
    agent: Trainer,
    stage: Filmed,
    z: Tensor | None,
    seconds: float,
    greedy: bool,
    seed: tuple[int, int],
) -> Iterator[tuple[list[Picture], Moment]]:
    """The pictures of every step until the game or the time is over, and what belongs beside them."""
    strategy, network, distribution = agent.strategy, agent.network, agent.distribution
    own_seed = derive_seed(seed[0], f"film {seed[1]}")
    strategy.reseed(own_seed)
    strategy.serve(1)
    follower = latent_strategy(strategy)
    if follower is not None and z is not None:
        follower.pin(z[None].to(agent.device))
    strategy.start(network)
    strategy.begin_rollout(network)
    source = generator(own_seed, "film")
    observation = stage.reset(own_seed)
    # In a mixture, the bonus that belongs to z.
    stream = strategy.streams.index(follower.streams[0]) if follower and follower.streams else 0
    score, shown, limit = 0.0, 0, round(seconds * stage.frames_per_second)
    yield stage.pictures(), Moment(0.0, None)
    while shown < limit:
        strategy.draw(1)
        latent = strategy.latent()
        output = network.policy(observation.to(agent.device), strategy.network_input(latent))
        noise = distribution.draw_noise((1,), source).to(agent.device)
        action = distribution.mode(output) if greedy else distribution.sample(output, noise)
        outcome = stage.step(action.cpu())
        bonus = None
        if strategy.streams:
            made = Transitions(
                observation.to(agent.device),
                action.to(agent.device),
                outcome.next_observation.to(agent.device),
                latent,
            )
            bonus = float(strategy.bonus(made)[0, stream])
        strategy.after_step(outcome)
        score += float(outcome.reward if outcome.score is None else outcome.score)
        pictures = stage.pictures()
        shown += len(pictures)
        yield pictures, Moment(score, bonus)
        observation = outcome.observation
        over = outcome.episode_over
        if bool(outcome.terminated | outcome.truncated if over is None else over):
            return
