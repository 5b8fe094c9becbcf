"""An Atari game on film: every frame of the console, where the agent sees one in four."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from rle.config import EnvironmentConfig
from rle.tasks.atari import FRAME_SKIP, OPTIONS, STACK, STEP_LIMIT
from rle.tasks.base import Picture, Step
from rle.tasks.envpool import SEED_RANGE, load_envpool
from rle.tasks.film.stage import Filmed
from rle.tasks.images import area_weights
from rle.tasks.suites.atari import check_game

NOTHING, FIRE = 0, 1
"""Places in the list of actions; a game without the button loses nothing by another action for once."""


class FilmedGame(Filmed):
    """One Atari game, in colour and with every frame of the console.

    EnvPool shows one frame in four. Played frame by frame it shows all of them; what the agent sees,
    and what happens at a lost life, is then put together here as EnvPool would have done.
    """

    frames_per_second = 60

    def __init__(self, game: str, config: EnvironmentConfig) -> None:
        check_game(game)
        limit = STEP_LIMIT if config.time_limit is None else config.time_limit
        self._make = lambda seed: load_envpool("atari").make(
            f"{game}-v5",
            env_type="gymnasium",
            num_envs=1,
            seed=seed % SEED_RANGE,
            render_mode="rgb_array",
            **{
                **OPTIONS,
                "frame_skip": 1,
                "episodic_life": False,
                "max_episode_steps": FRAME_SKIP * limit,
                "full_action_space": config.full_action_space,
            },
        )
        self._pool: Any = None
        self._pictures: list[Picture] = []
        self._stack = np.zeros((STACK, 84, 84), dtype=np.uint8)
        self._lives = 0
        self._life_lost = self._game_over = False
        self._generator = np.random.default_rng()

    def reset(self, seed: int) -> Tensor:
        self.close()
        self._pool = self._make(seed)
        self._generator = np.random.default_rng(seed)
        self._begin(self._pool.reset()[1])
        return self._observation()

    def _begin(self, info: Any) -> None:
        """A new game: EnvPool fills the stack with its first frame."""
        self._stack[:] = seen_by_agent([self._look()])
        self._lives = int(info["lives"][0])
        self._life_lost = self._game_over = False

    def _look(self) -> Picture:
        picture: Picture = self._pool.render()[0]
        self._pictures.append(picture)
        return picture

    def _observation(self) -> Tensor:
        return torch.from_numpy(self._stack.copy())[None]

    def _push(self, pictures: list[Picture]) -> None:
        self._stack = np.concatenate([self._stack[1:], seen_by_agent(pictures)[None]])

    def step(self, action: Tensor) -> Step:
        if self._game_over:
            self._begin(self._pool.step(np.zeros(1, dtype=np.int32))[-1])
            return self._outcome(0.0, False, False, real=False)
        if self._life_lost:
            return self._next_life()
        points, pictures, limit_reached, lives = 0.0, [], False, self._lives
        for _ in range(FRAME_SKIP):
            picture, reward, limit_reached = self._frame(int(action))
            points += reward
            pictures.append(picture)
            if self._game_over:
                break
        self._push(pictures[-2:])
        self._life_lost = self._lives < lives
        terminated = self._life_lost or (self._game_over and not limit_reached)
        return self._outcome(points, terminated, limit_reached and not terminated, real=True)

    def _frame(self, action: int) -> tuple[Picture, float, bool]:
        """One frame of the console: its picture, its points, and whether the time is up."""
        _, _, ended, cut, info = self._pool.step(np.array([action], dtype=np.int32))
        self._game_over = bool(ended[0]) or bool(cut[0])
        self._lives = int(info["lives"][0])
        return self._look(), float(info["reward"][0]), bool(cut[0])

    def _next_life(self) -> Step:
        """The call after a lost life: some frames of doing nothing, then the button that goes on."""
        for _ in range(self._generator.integers(OPTIONS["noop_max"])):
            self._frame(NOTHING)
        picture, _, _ = self._frame(FIRE)
        self._push([picture])
        self._life_lost = False
        return self._outcome(0.0, False, False, real=False)

    def _outcome(self, points: float, terminated: bool, truncated: bool, real: bool) -> Step:
        observation = self._observation()
        return Step(
            torch.tensor([float(np.sign(points))]),
            torch.tensor([terminated]),
            torch.tensor([truncated]),
            observation,
            observation,
            torch.tensor([real]),
            torch.tensor([points]),
            torch.tensor([self._game_over]),
        )

    def pictures(self) -> list[Picture]:
        taken, self._pictures = self._pictures, []
        return taken

    def close(self) -> None:
        if self._pool is not None:
            self._pool.close()
            self._pool = None


LUMINANCE = np.array([0.2989, 0.5870, 0.1140])
"""How the emulator makes grey of its colours."""


def seen_by_agent(pictures: list[Picture]) -> npt.NDArray[np.uint8]:
    """The 84 x 84 grey image of one or two frames: the brighter of each pixel, averaged over areas."""
    grey = np.max([np.rint(picture @ LUMINANCE) for picture in pictures], axis=0)
    rows, columns = (area_weights(size, 84) for size in grey.shape)
    return np.rint(rows @ grey @ columns.T).astype(np.uint8)
