"""RLE around a `VecEnv`: observations gain z, the reward gains the bonus."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from stable_baselines3.common.vec_env import VecEnv, VecEnvWrapper, VecMonitor
from torch import nn

from rle.errors import UsageError
from rle.plugins.observations import as_tensors
from rle.plugins.wrapping import LatentWrapping, settings_of


class VecRandomLatentExploration(LatentWrapping, VecEnvWrapper):
    """Shows every environment's z, pays for following it, and changes it when it is time.

    Put it outside of everything that normalises, stacks or reports (`VecNormalize`, `VecFrameStack`,
    `VecMonitor`): those should see the task alone. Every `info` has `task_reward`, `bonus` (F, before it
    is scaled and weighted), `latent` (the z that the action was taken under) and `latent_changed` (this
    was the last step under it); `terminal_observation` carries the z that it was reached under.
    """

    def __init__(
        self,
        venv: VecEnv,
        dimension: int = 8,
        coefficient: float = 0.1,
        *,
        features: nn.Module | None = None,
        latent: Any = None,
        seed: int = 0,
        device: torch.device | str = "cpu",
        **settings: Any,
    ) -> None:
        """Wrap a `VecEnv`.

        Args:
            venv: any `VecEnv`.
            dimension: d, the size of z.
            coefficient: what the bonus weighs beside the task's reward.
            features: φ, a module from a tree of tensors `[N, ...]` to `[N, d]`, or `[N, m]` if m
                features are whitened; None: a frozen random network that fits the observations.
            latent: `[d]`, a z that all environments follow always; None: drawn from the distribution.
            seed: of φ and z.
            device: where φ is computed.
            **settings: the others of `rle.plugins.settings.BonusSettings`.

        """
        known = settings_of(dimension, coefficient, settings)
        self._wrap(venv.observation_space, venv.num_envs, known, features, latent, seed, device)
        VecEnvWrapper.__init__(self, venv, observation_space=self.observations.space)
        self.last_bonus = np.zeros(venv.num_envs, np.float32)
        """F `[N]` of the last step."""
        self.last_changed = np.zeros(venv.num_envs, np.bool_)
        """bool `[N]`: where the last step was the last under its z."""

    def for_evaluation(self, venv: VecEnv, latent: Any = None) -> VecRandomLatentExploration:
        """Wrap another `VecEnv` so that it shows z as here, and pays the task's reward only.

        `latent` `[d]` is followed always; without it, z is drawn as in training.
        """
        return VecRandomLatentExploration(
            venv, latent=latent, seed=self._feature_seed, **self.evaluation_settings()
        )

    def seed(self, seed: int | None = None) -> Any:
        """Seed the environments and, if a seed is given, z."""
        if seed is not None:
            self.bonus.reseed(seed)
        return self.venv.seed(seed)

    def reset(self) -> Any:
        observation = self.venv.reset()
        self.bonus.renew(torch.ones(self.num_envs, dtype=torch.bool, device=self.bonus.device))
        return self.observations.join(observation, self.shown())

    def step_wait(self) -> Any:
        observation, reward, dones, infos = self.venv.step_wait()
        ended = bool(dones.any())
        z = self.shown()
        reached = _true_next(observation, dones, infos) if ended else observation
        device = self.bonus.device
        paid = self.bonus.step(
            as_tensors(reached, device),
            torch.as_tensor(dones, dtype=torch.bool, device=device) if ended else None,
        )
        self.bonus.recent.take_reward(reward, dones)
        self.last_bonus = paid.bonus.cpu().numpy()
        self.last_changed = paid.switched.cpu().numpy()
        columns = reward.tolist(), self.last_bonus.tolist(), z, self.last_changed.tolist()
        for info, task_reward, bonus, latent, changed in zip(infos, *columns, strict=True):
            info["task_reward"] = task_reward
            info["bonus"] = bonus
            info["latent"] = latent
            info["latent_changed"] = changed
        for index in np.flatnonzero(dones) if ended else ():
            final = infos[index].get("terminal_observation")
            if final is not None:
                infos[index]["terminal_observation"] = self.observations.join(final, z[index])
        total = reward + paid.added.cpu().numpy().astype(reward.dtype, copy=False)
        return self.observations.join(observation, self.shown()), total, dones, infos


def _true_next(observation: Any, dones: npt.NDArray[np.bool_], infos: list[Any]) -> Any:
    """What the actions led to: where an episode ended, its last observation."""
    parts = observation if isinstance(observation, dict) else {None: observation}
    result = {key: np.array(part) for key, part in parts.items()}
    for index in np.flatnonzero(dones):
        final = infos[index].get("terminal_observation")
        if final is None:
            raise UsageError(
                "the environments do not give the last observation of an episode: put it into info "
                "under terminal_observation, as Stable-Baselines3 does."
            )
        for key, part in result.items():
            part[index] = final if key is None else final[key]
    return result if isinstance(observation, dict) else result[None]


def exploration_of(env: VecEnv | None) -> VecRandomLatentExploration:
    """The RLE wrapper of a model's environment; refuses one that a `VecMonitor` is put around."""
    outer: VecEnv | None = env
    monitored = False
    while isinstance(outer, VecEnvWrapper):
        if isinstance(outer, VecRandomLatentExploration):
            if monitored:
                raise UsageError(
                    "VecMonitor is outside of VecRandomLatentExploration and would report the bonus as "
                    "part of the score: wrap them the other way round."
                )
            return outer
        monitored = monitored or isinstance(outer, VecMonitor)
        outer = outer.venv
    raise UsageError(
        "the environment does not show z: wrap it with rle.plugins.sb3.VecRandomLatentExploration."
    )
