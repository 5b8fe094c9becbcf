"""Tensor environments for rsl_rl whose every number is known, and its configuration for them."""

from __future__ import annotations

from typing import Any

import torch
from rsl_rl.env import VecEnv
from rsl_rl.runners import OnPolicyRunner
from tensordict import TensorDict
from torch import Tensor, nn

ENDS = torch.tensor([3, 6, 1000])
"""Steps of an episode: the first terminates, the second's time is up, the third never ends."""
LIMITED = torch.tensor([False, True, False])


class Clocks(VecEnv):
    """Shows (steps of this episode, number of the episode); the reward is 1. See `clocks`."""

    def __init__(self, gives_final: bool) -> None:
        self.num_envs, self.num_actions = 3, 1
        self.max_episode_length = 6
        self.device = "cpu"
        self.cfg: dict[str, Any] = {}
        self._gives_final = gives_final
        self.episode_length_buf = torch.zeros(3, dtype=torch.long)
        self._episode = torch.zeros(3)

    def _observe(self) -> Any:
        shown = torch.stack([self.episode_length_buf.float(), self._episode], -1)
        return TensorDict({"policy": shown}, batch_size=[3])

    def get_observations(self) -> Any:
        return self._observe()

    def step(self, actions: Tensor) -> Any:
        self.episode_length_buf = self.episode_length_buf + 1
        ended = self.episode_length_buf == ENDS
        extras: dict[str, Any] = {"time_outs": ended & LIMITED}
        if self._gives_final:
            extras["final_obs"] = self._observe()
        self._episode = self._episode + ended
        self.episode_length_buf = torch.where(ended, 0, self.episode_length_buf)
        return self._observe(), torch.ones(3), ended.long(), extras


class Line(VecEnv):
    """A place between -1 and 1 that actions move; episodes of 16 steps from the middle; no reward."""

    def __init__(self, num_envs: int, first: float = 0.0) -> None:
        self.num_envs, self.num_actions = num_envs, 1
        self.max_episode_length = 16
        self.device = "cpu"
        self.cfg: dict[str, Any] = {}
        self._first = first
        self.episode_length_buf = torch.zeros(num_envs, dtype=torch.long)
        self._place = torch.full((num_envs, 1), first)

    def get_observations(self) -> Any:
        return TensorDict({"policy": self._place.clone()}, batch_size=[self.num_envs])

    def step(self, actions: Tensor) -> Any:
        self._place = (self._place + 0.2 * actions.clamp(-1, 1)).clamp(-1, 1)
        self.episode_length_buf = self.episode_length_buf + 1
        final = self.get_observations()
        ended = self.episode_length_buf == 16
        self.episode_length_buf[ended] = 0
        self._place[ended] = self._first
        extras = {"time_outs": ended, "final_obs": final}
        return self.get_observations(), torch.zeros(self.num_envs), ended.long(), extras


class Seen(nn.Module):
    """φ that is the observation."""

    def forward(self, observation: Any) -> Tensor:
        return observation["policy"]


PLAIN: dict[str, Any] = {
    "dimension": 2,
    "coefficient": 0.5,
    "resample_every": 4,
    "standardise": False,
    "scale_bonus": False,
    "discount": 0.7,
    "feature_update_rate": 0.0,
}
"""F(s', z) = φ(s')·z, half of which counts; four steps under one z."""


def configuration(
    steps: int,
    rle: dict[str, Any] | None,
    algorithm: str = "rle.plugins.rsl_rl:RLEPPO",
    normalise: bool = False,
    **others: Any,
) -> dict[str, Any]:
    """A runner's."""
    model = {"class_name": "MLPModel", "hidden_dims": [16, 16], "activation": "tanh"}
    model["obs_normalization"] = normalise
    noise: dict[str, Any] = {"distribution_cfg": {"class_name": "GaussianDistribution"}}
    if not _has_distributions():
        noise = {"stochastic": True}
    learning = {"num_learning_epochs": 1, "num_mini_batches": 1, "schedule": "fixed", **others}
    if rle is not None:
        learning["rle_cfg"] = rle
    return {
        "num_steps_per_env": steps,
        "save_interval": 1000,
        "obs_groups": {"actor": ["policy"], "critic": ["policy"]},
        "actor": {**model, **noise},
        "critic": dict(model),
        "algorithm": {"class_name": algorithm, **learning},
    }


def _has_distributions() -> bool:
    """rsl_rl 5 and newer; before, models knew Gaussian noise only."""
    try:
        import rsl_rl.modules.distribution  # noqa: F401
    except ImportError:
        return False
    return True


def runner(env: VecEnv, *args: Any, seed: int = 0, **kwargs: Any) -> Any:
    torch.manual_seed(seed)
    return OnPolicyRunner(env, configuration(*args, **kwargs), device="cpu")
