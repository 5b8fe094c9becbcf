"""Atari 2600 games on EnvPool, as the paper plays them.

A loss of life ends the learner's episode while the game goes on; the learner's rewards are clipped to
their sign while whole games are scored unclipped.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import torch

from rle.config import EnvironmentConfig
from rle.tasks.envpool import Array, EnvPoolTask
from rle.tasks.suites.atari import check_game

FRAME_SKIP = 4
STACK = 4
STEP_LIMIT = 27_000
"""Agent steps of a game: 108 000 frames, half an hour."""
OPTIONS: Mapping[str, Any] = {
    "frame_skip": FRAME_SKIP,
    "stack_num": STACK,
    "gray_scale": True,
    "img_height": 84,
    "img_width": 84,
    "noop_max": 30,
    "use_fire_reset": True,
    "episodic_life": True,
    "reward_clip": True,
    "repeat_action_probability": 0.25,
}


class AtariTask(EnvPoolTask):
    """N copies of one game; observations are the last four grey frames, bytes `[N, 4, 84, 84]`."""

    def __init__(
        self,
        game: str,
        config: EnvironmentConfig,
        device: torch.device,
        engine_threads: int = 0,
    ) -> None:
        check_game(game)
        limit = STEP_LIMIT if config.time_limit is None else config.time_limit
        options = {
            **OPTIONS,
            "full_action_space": config.full_action_space,
            "max_episode_steps": limit,
        }
        super().__init__(
            f"{game}-v5", config, device, "atari", options, engine_threads=engine_threads
        )
        self.spec = dataclasses.replace(self.spec, stacked_frames=STACK)

    def _record(
        self, reward: Array, terminated: Array, truncated: Array, info: Mapping[str, Any]
    ) -> tuple[Array, Array]:
        # EnvPool's own "terminated" is the learner's: it includes lost lives. The game's is in info.
        return info["reward"], (info["terminated"] > 0) | truncated
