"""RLE in TorchRL: a `Transform` that shows every environment's z and writes the bonus.

    env = TransformedEnv(base, Compose(StepCounter(200), RandomLatentExploration(dimension=8)))

Around a batched environment, and after every transform that ends episodes or changes observations.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import torch
from torch import Tensor, nn

from rle.checks import require
from rle.core.features import random_features
from rle.errors import UsageError
from rle.findings.finding import Finding
from rle.plugins.extras import missing
from rle.plugins.latent_bonus import LatentBonus, fixed_latent
from rle.plugins.settings import WHITENED
from rle.plugins.wrapping import settings_of
from rle.randomness import generator

try:
    from torchrl.data import Binary, Unbounded
    from torchrl.envs import Transform
except ImportError:
    raise missing("rle.plugins.torchrl", "TorchRL", "torchrl") from None

__all__ = ["WHITENED", "RandomLatentExploration"]

LATENT, BONUS, BONUS_REWARD, CHANGED = "latent", "bonus", "bonus_reward", "latent_changed"


class RandomLatentExploration(Transform):  # type: ignore[misc]
    """Shows z, pays for following it, and changes it when it is time.

    Beside the observation stands `latent` `[*batch, d]`, the z of the next action. Of every step, `next`
    has `bonus` (F), `bonus_reward` (F scaled and weighted, the reward of the bonus's own value) and
    `latent_changed` (it was the last step under its z, and the bonus return is cut after it), each
    `[*batch, 1]`. The last observation of an episode has the z that it was reached under.
    """

    def __init__(
        self,
        in_key: Any = "observation",
        dimension: int = 8,
        coefficient: float = 0.1,
        *,
        add_to_reward: bool = False,
        features: nn.Module | None = None,
        latent: Any = None,
        seed: int = 0,
        **settings: Any,
    ) -> None:
        """Build it; φ and z are made when it is put around an environment.

        Args:
            in_key: the observation that φ sees.
            dimension: d, the size of z.
            coefficient: what the bonus weighs beside the task's reward.
            add_to_reward: let the reward gain `bonus_reward`, for agents with one value of both.
            features: φ, a module from `[N, ...]` to `[N, d]`, or `[N, m]` if m features are whitened;
                None: a frozen random network that fits.
            latent: `[d]`, a z that all environments follow always; None: drawn from the distribution.
            seed: of φ and z.
            **settings: the others of `rle.plugins.settings.BonusSettings`.

        """
        super().__init__(in_keys=[in_key], out_keys=[LATENT, BONUS, BONUS_REWARD, CHANGED])
        self._settings = settings_of(dimension, coefficient, settings)
        self._add_to_reward = add_to_reward
        self._own_features = features
        self._fixed = fixed_latent(latent)
        self._seed = seed
        self._bonus: LatentBonus | None = None
        self._renewed = torch.zeros(0, dtype=torch.bool)
        """Environments that got a new z when their episode ended, and were not reset since."""

    @property
    def bonus(self) -> LatentBonus:
        """z, φ, its statistics, and F."""
        if self._bonus is None:
            require(self.parent is not None, "the transform is not part of an environment yet.")
            self._bonus = self._build(self.parent.observation_spec)
            self._renewed = torch.zeros_like(self._bonus.z[:, 0], dtype=torch.bool)
        return self._bonus

    def for_evaluation(self, latent: Any = None) -> RandomLatentExploration:
        """A transform that shows z as this one does, and pays nothing.

        `latent` `[d]` is followed always; without it, z is drawn as in training.
        """
        settings = dataclasses.asdict(self._settings) | {"coefficient": 0.0}
        return RandomLatentExploration(
            self.in_keys[0],
            features=self._own_features,
            latent=latent,
            seed=self._seed,
            **settings,
        )

    def commit(self) -> None:
        """Use all statistics gathered so far now, rather than after `commit_every` steps."""
        self.bonus.commit()

    def check(self) -> list[Finding]:
        """What keeps RLE from working here, judged by the last steps of training; the worst first."""
        return self.bonus.check()

    def transform_observation_spec(self, observation_spec: Any) -> Any:
        require(
            LATENT not in set(observation_spec.keys()),
            f"the observations have an entry {LATENT!r} already, where z goes: rename it.",
        )
        batch, device = observation_spec.shape, observation_spec.device
        spec = observation_spec.clone()
        size = self._settings.dimension
        spec[LATENT] = Unbounded((*batch, size), device=device, dtype=torch.float32)
        for name in (BONUS, BONUS_REWARD):
            spec[name] = Unbounded((*batch, 1), device=device, dtype=torch.float32)
        spec[CHANGED] = Binary(1, shape=(*batch, 1), device=device, dtype=torch.bool)
        return spec

    def _build(self, spec: Any) -> LatentBonus:
        """For the observations of `spec`, of all environments together."""
        (key,), batch = self.in_keys, spec.shape
        require(
            key in spec.keys(True),
            f"the environment shows no {key!r}: name the observation for φ as in_key.",
        )
        features = self._own_features
        if features is None:
            source = generator(self._seed, "features")
            shape = spec[key].shape[len(batch) :]
            features = random_features(shape, self._settings.features, source)
        device = spec.device or "cpu"
        settings, seed = self._settings, self._seed
        return LatentBonus(batch.numel(), settings, features, seed, self._fixed, device)

    def _step(self, tensordict: Any, next_tensordict: Any) -> Any:
        batch = next_tensordict.shape
        ended = next_tensordict["done"].reshape(-1)
        z = self.bonus.z
        observation = next_tensordict[self.in_keys[0]]
        self.bonus.recent.take_reward(next_tensordict["reward"].reshape(-1), ended)
        paid = self.bonus.step(observation.reshape(-1, *observation.shape[len(batch) :]), ended)
        self._renewed = ended
        # The last observation of an episode was reached under the old z.
        shown = torch.where(ended[:, None], z, self.bonus.z)
        self._write(next_tensordict, shown, paid.bonus, paid.added, paid.switched)
        if self._add_to_reward:
            reward = next_tensordict["reward"]
            next_tensordict["reward"] = reward + paid.added.reshape(reward.shape).to(reward.dtype)
        return next_tensordict

    def _reset(self, tensordict: Any, tensordict_reset: Any) -> Any:
        bonus = self.bonus
        mask = None if tensordict is None else tensordict.get("_reset", None)
        mask = torch.ones_like(self._renewed) if mask is None else mask.reshape(-1)
        if bool((mask & ~self._renewed).any()):
            bonus.renew(mask & ~self._renewed)
        self._renewed = self._renewed & ~mask
        nothing = torch.zeros(len(mask), device=mask.device)
        self._write(tensordict_reset, bonus.z, nothing, nothing, nothing.bool())
        return tensordict_reset

    def _reset_on_native_autoreset(self, tensordict: Any, tensordict_reset: Any) -> Any:
        return self._reset(tensordict, tensordict_reset)

    def _write(
        self, tensordict: Any, z: Tensor, bonus: Tensor, added: Tensor, changed: Tensor
    ) -> None:
        batch = tensordict.shape
        tensordict[LATENT] = z.reshape(*batch, -1)
        for name, column in ((BONUS, bonus), (BONUS_REWARD, added), (CHANGED, changed)):
            tensordict[name] = column.reshape(*batch, 1)

    def forward(self, tensordict: Any) -> Any:
        raise UsageError(
            "z belongs to an environment's steps: put the transform around the environment, not into a "
            "replay buffer."
        )

    def get_extra_state(self) -> dict[str, Any]:
        """What `state_dict` keeps: z, φ, its statistics and scale, and random numbers."""
        return self.bonus.state_dict()

    def set_extra_state(self, state: dict[str, Any]) -> None:
        self.bonus.load_state_dict(state)
