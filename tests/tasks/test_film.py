"""A filmed game is the game the agent was trained on, with all its frames."""

import numpy as np
import pytest
import torch

from rle.config import EnvironmentConfig
from rle.errors import UsageError
from rle.tasks.film import filmed, seen_by_agent
from rle.tasks.registry import make_task

CONFIG = EnvironmentConfig(num_envs=1, engine_threads=1)


@pytest.mark.parametrize("game", ["Breakout", "Boxing", "SpaceInvaders"])
def test_shows_the_agent_what_the_task_shows(game: str) -> None:
    """Step by step until a life is lost: after that, both wait a random number of frames."""
    stage = filmed(f"atari/{game}", CONFIG)
    task = make_task(f"atari/{game}", CONFIG, torch.device("cpu"))
    shown, given = stage.reset(3), task.reset(3)
    actions = np.random.default_rng(1).integers(0, 18, 150)
    frames = len(stage.pictures())
    for number, action in enumerate(actions, start=1):
        # Both round averages to bytes, in another order of sums.
        assert int((shown.int() - given.int()).abs().max()) <= 1
        mine, theirs = stage.step(torch.tensor([action])), task.step(torch.tensor([action]))
        for name in ("reward", "score", "terminated", "truncated", "episode_over"):
            assert torch.equal(getattr(mine, name), getattr(theirs, name)), name
        frames += len(stage.pictures())
        assert frames == 1 + 4 * number
        if bool(mine.terminated):
            break
        shown, given = mine.observation, theirs.observation
    stage.close()
    task.close()


def test_the_next_life_and_the_next_game() -> None:
    stage = filmed("atari/Breakout", CONFIG)
    stage.reset(0)
    lost = over = 0
    for _ in range(600):
        step = stage.step(torch.tensor([1]))
        assert step.real is not None
        assert step.episode_over is not None
        lost += int(step.terminated)
        if bool(step.episode_over):
            over += 1
            break
    assert (lost, over) == (5, 1)
    reset = stage.step(torch.tensor([1]))
    assert reset.real is not None
    assert not bool(reset.real)
    # A new game begins with four times its first frame.
    assert torch.equal(reset.observation[0, 0], reset.observation[0, 3])
    assert bool(stage.step(torch.tensor([1])).real)
    stage.close()


def test_a_uniform_picture_stays_uniform() -> None:
    grey = np.full((210, 160, 3), 100, dtype=np.uint8)
    assert set(np.unique(seen_by_agent([grey, grey // 2]))) == {100}


def test_what_cannot_be_filmed_is_named() -> None:
    with pytest.raises(UsageError, match="fourroom cannot be filmed"):
        filmed("fourroom", CONFIG)
