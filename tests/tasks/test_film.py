"""A filmed game is the game the agent was trained on, with all its frames."""

import dataclasses
import sys

import gymnasium
import numpy as np
import pytest
import torch

from rle.config import EnvironmentConfig
from rle.errors import UsageError
from rle.tasks.film import filmed
from rle.tasks.film.game import seen_by_agent
from rle.tasks.registry import make_task
from tests.probes.environments import ConstantReward

CONFIG = EnvironmentConfig(num_envs=1)


@pytest.mark.parametrize("game", ["Breakout", "Boxing", "SpaceInvaders"])
def test_shows_the_agent_what_the_task_shows(game: str) -> None:
    """Step by step until a life is lost: after that, both wait a random number of frames."""
    stage = filmed(f"atari/{game}", CONFIG)
    task = make_task(f"atari/{game}", CONFIG, torch.device("cpu"), engine_threads=1)
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


def test_fourroom_is_filmed_as_its_gymnasium_environment_draws_it() -> None:
    stage = filmed("fourroom-sparse", CONFIG)
    environment = gymnasium.make("rle/FourRoomSparse-v0", render_mode="rgb_array")
    stage.reset(0)
    environment.reset()
    for action in (0, 0, 3, 1, 3):
        stage.step(torch.tensor([action]))
        environment.step(action)
    *_, last = stage.pictures()
    assert np.array_equal(last, environment.render())


def test_the_next_episode_is_not_on_the_film() -> None:
    stage = filmed("fourroom", dataclasses.replace(CONFIG, time_limit=3))
    stage.reset(0)
    steps = [stage.step(torch.tensor([0])) for _ in range(3)]
    assert [bool(step.truncated) for step in steps] == [False, False, True]
    # The start and two steps; after the third the agent is back at the start.
    assert len(stage.pictures()) == 3


@pytest.mark.parametrize(
    ("task", "rate", "pictures"), [("control/BallBalance", 25, 3), ("control/Cartpole", 33, 2)]
)
def test_robots_are_filmed_at_the_pace_of_their_world(task: str, rate: int, pictures: int) -> None:
    """50 and 100 steps a second: every second and every third step is shown."""
    try:
        stage = filmed(task, CONFIG)
        stage.reset(0)
    except UsageError as error:
        pytest.skip(str(error))
    assert stage.frames_per_second == rate
    size = 3 if task == "control/BallBalance" else 1
    for _ in range(5):
        stage.step(torch.full((1, size), 0.5))
    shown = stage.pictures()
    stage.close()
    assert len(shown) == pictures
    # Something moves.
    assert not np.array_equal(shown[0], shown[-1])


def test_observations_are_left_for_the_agent_to_normalise() -> None:
    plain = make_task("fourroom", CONFIG, torch.device("cpu"))
    stage = filmed("fourroom", dataclasses.replace(CONFIG, normalise_observations=True))
    assert torch.equal(stage.reset(0), plain.reset(0))
    for action in (0, 0, 3, 3):
        expected = plain.step(torch.tensor([action])).observation
        assert torch.equal(stage.step(torch.tensor([action])).observation, expected)


def test_a_uniform_picture_stays_uniform() -> None:
    grey = np.full((210, 160, 3), 100, dtype=np.uint8)
    assert set(np.unique(seen_by_agent([grey, grey // 2]))) == {100}


def test_what_is_missing_for_pictures_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pygame", None)
    stage = filmed("gym/CartPole-v1", CONFIG)
    with pytest.raises(UsageError, match=r"pip install .gymnasium\[classic-control\]"):
        stage.reset(0)
    monkeypatch.setattr("rle.tasks.envpool._load_graphics", lambda: False)
    with pytest.raises(UsageError, match="apt-get install libegl1"):
        filmed("control/Cartpole", CONFIG)


def test_what_does_not_draw_itself_cannot_be_filmed() -> None:
    with pytest.raises(UsageError, match="cannot be filmed"):
        ConstantReward(1).picture()
