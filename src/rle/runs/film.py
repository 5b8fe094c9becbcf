"""A trained agent on video: one clip per z, with z, bonus and score beside the picture."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from torch import Tensor

from rle.agents.agent import Agent
from rle.agents.play import Played, play
from rle.checks import require, require_positive
from rle.explore.mixture import latent_strategy
from rle.randomness import derive_seed, generator
from rle.runs.clip import Clip, Moment
from rle.runs.directory import RunDirectory, make_folder
from rle.runs.evaluate import use_threads
from rle.runs.loading import load
from rle.runs.trust import require_trust_to_play
from rle.tasks.base import Picture
from rle.tasks.film import Filmed, filmed

MOST_CLIPS = 1000


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
    overwrite: bool = False,
    trust: bool = False,
) -> list[Film]:
    """Write `clips` videos of a run's agent into `out`, each under another z, and return them.

    A clip ends with the game, or after `seconds` of play. Agents without z play under other random
    numbers in each clip. Files that are there are not replaced, unless `overwrite` says so. `trust` runs
    code of others that the run names; said once, it is remembered.
    """
    require(0 < clips <= MOST_CLIPS, f"clips is {clips}: give a number from 1 to {MOST_CLIPS}.")
    require_positive("seconds", seconds)
    run = RunDirectory.open(path)
    require_trust_to_play(run, trust)
    agent = load(run, step)
    use_threads(agent)
    folder = Path(out)
    kind = "z" if agent.latent_dimension else "clip"
    names = [folder / f"{kind}-{number}.mp4" for number in range(clips)]
    if not overwrite:
        _require_free(names)
    stage = filmed(agent.config.task, agent.config.environment)
    latents = None
    if agent.latent_dimension:
        latents = agent.sample_latents(clips, generator(seed, "film latents"))
    make_folder(folder, "--video")
    films = []
    try:
        for number, name in enumerate(names):
            z = None if latents is None else latents[number]
            if name.is_symlink():
                name.unlink()  # replaced, not followed
            title = f"{agent.config.task}  {agent.config.explore}  {agent.trained_steps:,} steps"
            with Clip(name, stage.frames_per_second, title, z) as clip:
                score = 0.0
                for pictures, moment in _shoot(agent, stage, z, seconds, greedy, (seed, number)):
                    score = moment.score
                    clip.write(pictures, moment)
            films.append(Film(name, score))
    finally:
        stage.close()
    return films


def _require_free(names: Sequence[Path]) -> None:
    """Before anything is played: a clip that is there is of another agent, or of another moment."""
    # A link that leads nowhere yet would be written through.
    taken = [name for name in names if os.path.lexists(name)]
    require(
        not taken,
        f"{', '.join(map(str, taken))} would be overwritten: choose another --video, or --overwrite.",
    )


def _shoot(
    agent: Agent,
    stage: Filmed,
    z: Tensor | None,
    seconds: float,
    greedy: bool,
    seed: tuple[int, int],
) -> Iterator[tuple[list[Picture], Moment]]:
    """The pictures of every step until the game or the time is over, and what belongs beside them."""
    own_seed = derive_seed(seed[0], f"film {seed[1]}")
    agent.strategy.reseed(own_seed)
    observation = stage.reset(own_seed)
    yield stage.pictures(), Moment(0.0, None)
    score, shown, limit = 0.0, 0, round(seconds * stage.frames_per_second)
    steps = play(
        agent,
        stage,
        observation,
        agent.noise(1, generator(own_seed, "film")),
        # A clip is one rollout: one sample of NoisyNet's noise, as it is one z.
        ahead=max(limit, 1),
        latents=None if z is None else z[None],
        greedy=greedy,
    )
    while shown < limit:
        played = next(steps)
        step = played.step
        score += float(step.reward if step.score is None else step.score)
        pictures = stage.pictures()
        shown += len(pictures)
        yield pictures, Moment(score, _bonus(agent, played))
        over = step.episode_over
        if bool(step.terminated | step.truncated if over is None else over):
            return


def _bonus(agent: Agent, played: Played) -> float | None:
    """The bonus of a step; in a mixture, the one that belongs to z."""
    streams, follower = agent.strategy.streams, latent_strategy(agent.strategy)
    if not streams:
        return None
    stream = streams.index(follower.streams[0]) if follower and follower.streams else 0
    bonuses = agent.bonus(
        played.observation, played.action, played.step.next_observation, played.latent
    )
    return float(bonuses[0, stream])
