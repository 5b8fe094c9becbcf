"""The Atari suite beside the emulator itself, and EnvPool's conventions as the learner sees them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch

from rle.config import EnvironmentConfig
from rle.errors import UsageError
from rle.stats.reference import atari_reference_scores
from rle.tasks import atari
from rle.tasks.atari import AtariTask
from rle.tasks.base import Discrete
from rle.tasks.registry import make_task
from rle.tasks.suites.atari import GAMES

SCRIPT = np.random.default_rng(7).integers(0, 18, 900)
"""Actions of a scripted player, indices into the console's 18."""
FIRE = 1


def area_weights(size: int, smaller: int) -> npt.NDArray[np.float64]:
    """`[smaller, size]`: how much of each old pixel lies in each new one."""
    edges = np.arange(smaller + 1) * size / smaller
    left, right = np.arange(size), np.arange(size) + 1
    overlap = np.minimum(edges[1:, None], right) - np.maximum(edges[:-1, None], left)
    overlap = overlap.clip(min=0)
    return overlap / overlap.sum(1, keepdims=True)


ROWS, COLUMNS = area_weights(210, 84), area_weights(160, 84)


class Console:
    """The emulator, played by hand: four frames a step, the brighter of the last two."""

    def __init__(self, game: str, sticky: float, seed: int) -> None:
        from ale_py import ALEInterface, LoggerMode, roms

        ALEInterface.setLoggerMode(LoggerMode.Error)
        self._ale = ALEInterface()
        self._ale.setInt("random_seed", seed)
        self._ale.setFloat("repeat_action_probability", sticky)
        self._ale.loadROM(roms.get_rom_path(game))
        self._actions = self._ale.getLegalActionSet()

    def _screen(self) -> npt.NDArray[np.uint8]:
        return self._ale.getScreenGrayscale()

    def reset(self) -> npt.NDArray[np.float64]:
        self._ale.reset_game()
        self.press_fire()
        return ROWS @ self._screen() @ COLUMNS.T

    def step(self, action: int) -> tuple[npt.NDArray[np.float64], float]:
        points, screens = 0.0, []
        for _ in range(4):
            points += self._ale.act(self._actions[action])
            screens.append(self._screen())
            if self.over:
                break
        return ROWS @ np.max(screens[-2:], axis=0) @ COLUMNS.T, points

    def press_fire(self) -> None:
        """One frame, as the suite does at the start of an episode."""
        self._ale.act(self._actions[FIRE])

    @property
    def lives(self) -> int:
        return self._ale.lives()

    @property
    def over(self) -> bool:
        return self._ale.game_over()


@pytest.fixture
def options(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, Any]]:
    """The suite's options, to be changed."""
    changed = dict(atari.OPTIONS)
    monkeypatch.setattr(atari, "OPTIONS", changed)
    return changed


def make(game: str, num_envs: int = 1, **settings: Any) -> AtariTask:
    config = EnvironmentConfig(num_envs=num_envs, **settings)
    task = make_task(f"atari/{game}", config, torch.device("cpu"), engine_threads=1)
    assert isinstance(task, AtariTask)
    return task


@pytest.mark.parametrize("sticky", [0.0, 0.25])
@pytest.mark.parametrize(
    ("game", "rom"),
    [("Breakout", "breakout"), ("SpaceInvaders", "space_invaders"), ("Boxing", "boxing")],
)
def test_a_scripted_game_is_the_emulators(
    game: str, rom: str, sticky: float, options: dict[str, Any]
) -> None:
    """Pixels, rewards, lives and ends of a whole scripted play, frame by frame."""
    seed = 5
    # Without random no-ops at the start, and without stops at lost lives, a player of the emulator
    # needs nothing but its actions (and, with sticky ones, its seed).
    options |= {"noop_max": 1, "episodic_life": False, "repeat_action_probability": sticky}
    task = make(game)
    console = Console(rom, sticky, seed)
    observation, screen = task.reset(seed), console.reset()
    scored = 0.0
    for action in SCRIPT:
        # Both round to bytes; the emulator's frame here is not rounded.
        newest = observation[0, -1].double().numpy()
        assert np.abs(newest - screen).max() <= 0.5 + 1e-6
        before = observation
        step = task.step(torch.tensor([int(action)]))
        screen, points = console.step(int(action))
        observation = step.observation
        assert torch.equal(observation[0, :-1], before[0, 1:])
        assert step.score is not None
        assert float(step.score) == points
        assert float(step.reward) == np.sign(points)
        assert bool(step.terminated) == console.over
        assert not bool(step.truncated)
        scored += abs(points)
        if console.over:
            break
    assert scored > 0


def test_a_lost_life_ends_the_learners_episode_and_not_the_game(options: dict[str, Any]) -> None:
    """Lives as the emulator counts them: Breakout has five, and the fifth loss ends the game."""
    options |= {"noop_max": 1, "repeat_action_probability": 0.0}
    task, console = make("Breakout"), Console("breakout", 0.0, 0)
    task.reset(0)
    console.reset()
    ends = resets = 0
    while not console.over:
        step = task.step(torch.tensor([FIRE]))
        assert step.score is not None
        assert step.episode_over is not None
        if step.real is not None and not bool(step.real):
            # This call only went on from the lost life.
            console.press_fire()
            resets += 1
            assert (float(step.reward), float(step.score)) == (0, 0)
            assert not bool(step.terminated | step.episode_over)
            continue
        lives = console.lives
        _, points = console.step(FIRE)
        assert float(step.score) == points
        assert bool(step.terminated) == (console.lives < lives)
        assert bool(step.episode_over) == console.over
        ends += int(step.terminated)
    assert (ends, resets) == (5, 4)


def test_the_limit_truncates_and_keeps_the_true_last_observation() -> None:
    task = make("Pong", num_envs=2, time_limit=5)
    task.reset(0)
    steps = [task.step(torch.tensor([2, 3])) for _ in range(7)]
    assert [bool(step.truncated.all()) for step in steps] == [0, 0, 0, 0, 1, 0, 0]
    assert not any(bool(step.terminated.any()) for step in steps)
    last, reset = steps[4], steps[5]
    assert last.episode_over is not None
    assert bool(last.episode_over.all())
    # The frames before the end are still in the last observation, and gone from the next episode's.
    assert torch.equal(last.next_observation[:, :3], steps[3].next_observation[:, 1:])
    assert reset.real is not None
    assert not bool(reset.real.any())
    assert not torch.equal(reset.observation[:, :3], last.observation[:, 1:])
    assert bool(steps[6].real.all())


def test_the_papers_limit_is_27000_steps() -> None:
    assert make("Pong")._options["max_episode_steps"] == 27_000


def test_options_are_the_papers() -> None:
    chosen: Mapping[str, Any] = make("Pong")._options
    assert chosen["frame_skip"] == 4
    assert chosen["stack_num"] == 4
    assert (chosen["img_height"], chosen["img_width"]) == (84, 84)
    assert chosen["noop_max"] == 30
    assert chosen["use_fire_reset"]
    assert chosen["episodic_life"]
    assert chosen["reward_clip"]
    assert chosen["repeat_action_probability"] == 0.25


def test_action_sets() -> None:
    assert make("Pong").spec.action_space == Discrete(18)
    assert make("Pong", full_action_space=False).spec.action_space == Discrete(6)


def test_observations_are_bytes_that_stay_as_they_were() -> None:
    """EnvPool hands out its own memory: it must not be written over later."""
    task = make("Pong", num_envs=2)
    observation = task.reset(0)
    assert observation.dtype == torch.uint8
    assert observation.shape == (2, 4, 84, 84)
    kept = [task.step(torch.tensor([2, 3])).observation for _ in range(3)]
    copies = [observation.clone() for observation in kept]
    for _ in range(10):
        task.step(torch.tensor([4, 5]))
    assert all(torch.equal(now, then) for now, then in zip(kept, copies, strict=True))


def test_same_seed_same_game_and_environments_differ() -> None:
    def play(seed: int) -> torch.Tensor:
        task = make("Boxing", num_envs=2)
        task.reset(seed)
        return torch.stack([task.step(torch.tensor([3, 3])).observation for _ in range(60)])

    first, again, other = play(1), play(1), play(2)
    assert torch.equal(first, again)
    assert not torch.equal(first, other)
    assert not torch.equal(first[:, 0], first[:, 1])


def test_the_57_games_are_the_papers() -> None:
    assert set(GAMES) == set(atari_reference_scores())


def test_an_unknown_game_is_answered_with_the_nearest() -> None:
    with pytest.raises(UsageError, match="did you mean 'MontezumaRevenge'"):
        make("MontezumasRevenge")


def test_without_envpool_the_command_that_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "envpool", None)
    with pytest.raises(UsageError, match=r'pip install "random-latent-exploration\[atari\]"'):
        make("Pong")


def test_a_loaded_state_starts_new_episodes_that_were_not_played_before() -> None:
    task = make("Boxing", num_envs=2)
    first = task.reset(1)
    for _ in range(5):
        task.step(torch.tensor([3, 3]))
    other = make("Boxing", num_envs=2)
    with pytest.warns(UserWarning, match="cannot save"):
        other.load_state_dict(task.state_dict())
    assert other.restarted
    step = other.step(torch.tensor([0, 0]))
    assert step.real is not None
    assert not bool(step.real.any())
    assert not torch.equal(step.observation, first)
