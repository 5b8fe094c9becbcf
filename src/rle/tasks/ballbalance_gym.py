"""BallBalance as an ordinary Gymnasium environment, with pictures."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from rle.tasks import ballbalance
from rle.tasks.ballbalance import BallBalanceWorld, Floats
from rle.tasks.physics import Painter


class BallBalanceEnv(gymnasium.Env[npt.NDArray[np.float32], npt.NDArray[np.float32]]):
    """One BallBalance; the same world as `rle.tasks.ballbalance.BallBalance`, one step at a time.

    Observations are float32 `[12]`, see `BallBalanceWorld.observe`; actions are float32 `[3]` in
    [-1, 1], see `BallBalanceWorld.advance`. The reward lies in (0, 1], see `BallBalanceWorld.reward`;
    the episode terminates when the ball falls. `render_mode="rgb_array"` gives 640 x 480 pictures.
    """

    metadata = {"render_modes": ["rgb_array"], "render_fps": 50}  # noqa: RUF012

    def __init__(self, render_mode: str | None = None) -> None:
        bound = ballbalance.OBSERVATION_BOUND
        self.observation_space = spaces.Box(
            -bound, bound, (ballbalance.OBSERVATION_SIZE,), np.float32
        )
        self.action_space = spaces.Box(-1.0, 1.0, (ballbalance.NUM_ACTIONS,), np.float32)
        self.render_mode = render_mode
        self.world = BallBalanceWorld()
        self.state: Floats = self.world.rest[None].copy()
        """float64 `[1, state_size]`: all there is to know of the present; may be set."""
        self._painter: Painter | None = None

    def reset(
        self,
        *,
        seed: int | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[npt.NDArray[np.float32], dict[str, Any]]:
        super().reset(seed=seed)
        self.state = self.world.start(self.np_random.random((1, ballbalance.START_NUMBERS)))
        return self.world.observe(self.state)[0], {}

    def step(
        self, action: npt.NDArray[np.float32]
    ) -> tuple[npt.NDArray[np.float32], float, bool, bool, dict[str, Any]]:
        self.state = self.world.advance(self.state, np.asarray(action)[None])
        observation = self.world.observe(self.state)[0]
        reward = float(self.world.reward(self.state)[0])
        return observation, reward, bool(self.world.fallen(self.state)[0]), False, {}

    def render(self) -> npt.NDArray[np.uint8] | None:
        """uint8 `[480, 640, 3]`, or None without a render mode."""
        if self.render_mode is None:
            return None
        if self._painter is None:
            self._painter = Painter(self.world.model)
        return self._painter.paint(self.state[0])

    def close(self) -> None:
        if self._painter is not None:
            self._painter.close()
            self._painter = None
        self.world.close()
