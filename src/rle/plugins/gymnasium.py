"""RLE around any Gymnasium vector environment: observations gain z, the reward gains the bonus.

    envs = RandomLatentExploration(gymnasium.make_vec("CartPole-v1", 16), dimension=8)

Nothing else of a training script changes. `info` has, for every step, `task_reward`, `bonus` (F, before
it is scaled and weighted), `latent` (the z that the action was taken under) and `latent_changed` (this
was the last step under it).
"""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from gymnasium.vector import AutoresetMode, VectorEnv, VectorWrapper
from gymnasium.vector.utils import batch_space
from torch import nn

from rle.checks import require
from rle.errors import UsageError
from rle.plugins.observations import as_tensors
from rle.plugins.settings import WHITENED
from rle.plugins.wrapping import LatentWrapping, settings_of

__all__ = ["WHITENED", "RandomLatentExploration"]

Flags = npt.NDArray[np.bool_]


class RandomLatentExploration(LatentWrapping, VectorWrapper[Any, Any, Any, Any, Any]):
    """Shows every environment's z, pays for following it, and changes it when it is time.

    Put it outside of everything that changes observations or reports scores (`NormalizeObservation`,
    `RecordEpisodeStatistics`): those should see the task alone.
    """

    def __init__(
        self,
        env: VectorEnv[Any, Any, Any],
        dimension: int = 8,
        coefficient: float = 0.1,
        *,
        features: nn.Module | None = None,
        latent: Any = None,
        seed: int = 0,
        device: torch.device | str = "cpu",
        **settings: Any,
    ) -> None:
        """Wrap a vector environment.

        Args:
            env: any vector environment that says its auto-reset mode in its metadata.
            dimension: d, the size of z.
            coefficient: what the bonus weighs beside the task's reward.
            features: φ, a module from a tree of tensors `[N, ...]` to `[N, d]`, or `[N, m]` if m
                features are whitened; None: a frozen random network that fits the observations.
            latent: `[d]`, a z that all environments follow always; None: drawn from the distribution.
            seed: of φ and z; give every rank the same, φ must be one for all.
            device: where φ is computed.
            **settings: the others of `rle.plugins.settings.BonusSettings`.

        """
        VectorWrapper.__init__(self, env)
        self._mode = _autoreset(env)
        self._wrap(
            env.single_observation_space,
            env.num_envs,
            settings_of(dimension, coefficient, settings),
            features,
            latent,
            seed,
            device,
        )
        self.single_observation_space = self.observations.space
        self.observation_space = batch_space(self.observations.space, env.num_envs)
        self._only_resets = np.zeros(env.num_envs, np.bool_)
        """Environments whose next call is no transition."""

    def for_evaluation(
        self, env: VectorEnv[Any, Any, Any], latent: Any = None
    ) -> RandomLatentExploration:
        """Wrap another vector environment so that it shows z as here, and pays the task's reward only.

        `latent` `[d]` is followed always; without it, z is drawn as in training.
        """
        return RandomLatentExploration(
            env, latent=latent, seed=self._feature_seed, **self.evaluation_settings()
        )

    def reset(
        self, *, seed: Any = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        mask = (options or {}).get("reset_mask")
        mask = np.ones(self.num_envs, np.bool_) if mask is None else np.array(mask)
        observation, info = self.env.reset(seed=seed, options=options)
        if seed is None:
            self.bonus.renew(torch.from_numpy(mask).to(self.bonus.device))
        else:
            self.bonus.reseed(seed if isinstance(seed, int) else next(iter(seed)) or 0)
        self._only_resets &= ~mask
        z = self.shown()
        everywhere = np.ones(self.num_envs, np.bool_)
        info = {**info, "latent": self.shown(), "_latent": everywhere}
        return self.observations.join(observation, z), info

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        observation, reward, terminated, truncated, info = self.env.step(actions)
        ended = np.logical_or(terminated, truncated)
        real = ~self._only_resets
        z = self.shown()
        quiet = not ended.any() and bool(real.all())
        paid = self.bonus.step(
            self._tensors(self._true_next(observation, ended & real, info)),
            None if quiet else self._flags(ended & real),
            None if real.all() else self._flags(real),
        )
        self.bonus.recent.take_reward(reward, ended & real)
        after = self.shown()
        if self._mode is AutoresetMode.SAME_STEP:
            info = self._with_final(info, z)
        else:
            # What is shown is still the last observation of the old episode, reached under the old z.
            after = np.where(ended[:, None], z, after)
        self._only_resets = ended & (self._mode is AutoresetMode.NEXT_STEP)
        reward = np.asarray(reward)
        told = {
            "task_reward": reward,
            "bonus": paid.bonus.cpu().numpy(),
            "latent": z,
            "latent_changed": paid.switched.cpu().numpy(),
        }
        info = {**info, **told, **{f"_{name}": real.copy() for name in told}}
        total = reward + paid.added.cpu().numpy().astype(reward.dtype)
        return self.observations.join(observation, after), total, terminated, truncated, info

    def warm_up(self, steps: int, seed: int | None = None) -> None:
        """Take `steps` random actions in every environment to learn φ's statistics and F's scale.

        The only call that steps the environments by itself. Call `reset` after it, as before any step.
        """
        actions = copy.deepcopy(self.action_space)
        actions.seed(seed)
        commits_itself, self.bonus.commits_itself = self.bonus.commits_itself, False
        self.reset(seed=seed)
        for _ in range(steps):
            _, _, terminated, truncated, _ = self.step(actions.sample())
            ended = np.logical_or(terminated, truncated)
            if self._mode is AutoresetMode.DISABLED and ended.any():
                self.reset(options={"reset_mask": ended})
        self.commit()
        self.bonus.commits_itself = commits_itself

    def _flags(self, flags: Flags) -> torch.Tensor:
        return torch.from_numpy(flags).to(self.bonus.device)

    def _tensors(self, observation: Any) -> Any:
        return as_tensors(observation, self.bonus.device)

    def _true_next(self, observation: Any, ended: Flags, info: dict[str, Any]) -> Any:
        """What the actions led to: where an episode ended, its last observation."""
        if self._mode is not AutoresetMode.SAME_STEP or not ended.any():
            return observation
        require(
            "final_obs" in info,
            "the environment resets in the same step and does not give the last observation of an "
            "episode: put it into info under final_obs, as Gymnasium does.",
        )
        return _replaced(observation, info["final_obs"], np.flatnonzero(ended).tolist())

    def _with_final(self, info: dict[str, Any], z: npt.NDArray[np.float32]) -> dict[str, Any]:
        """The same `info`, its final observations with the `z` that they were reached under."""
        final = info.get("final_obs")
        if final is None:
            return info
        if isinstance(final, np.ndarray) and final.dtype == object:
            joined = final.copy()
            for index, observation in enumerate(final):
                if observation is not None:
                    joined[index] = self.observations.join(observation, z[index])
        else:
            joined = self.observations.join(final, z)
        return {**info, "final_obs": joined}


def _autoreset(env: VectorEnv[Any, Any, Any]) -> AutoresetMode:
    said = (env.metadata or {}).get("autoreset_mode")
    mode = next((mode for mode in AutoresetMode if said in (mode, mode.value)), None)
    if mode is None:
        raise UsageError(
            f"the vector environment's metadata have {said!r} for autoreset_mode: say "
            "gymnasium.vector.AutoresetMode.NEXT_STEP, SAME_STEP or DISABLED there, as it does."
        )
    return mode


def _replaced(observation: Any, final: Any, indices: list[int]) -> Any:
    """A copy of the batch `observation` with `final`'s entries at `indices`."""
    if isinstance(observation, dict):
        return {
            key: _replaced(part, _part(final, key), indices) for key, part in observation.items()
        }
    if isinstance(observation, tuple):
        return tuple(
            _replaced(part, _part(final, number), indices)
            for number, part in enumerate(observation)
        )
    result = np.array(observation)
    for index in indices:
        result[index] = final[index]
    return result


def _part(final: Any, key: Any) -> Any:
    """One entry of final observations: of a batch, or of an array of single ones."""
    if isinstance(final, np.ndarray | list):
        return [None if single is None else single[key] for single in final]
    return final[key]
