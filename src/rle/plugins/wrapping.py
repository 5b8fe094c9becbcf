"""What wrappers of Gymnasium's and of Stable-Baselines3's vector environments have in common."""

from __future__ import annotations

import dataclasses
import io
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from gymnasium import spaces
from torch import Tensor, nn

from rle.checks import nearest, require
from rle.errors import UsageError
from rle.findings.finding import Finding
from rle.plugins.features import FollowingFeatures, RandomFeatures, check_features
from rle.plugins.latent_bonus import LatentBonus, fixed_latent
from rle.plugins.observations import LatentObservation
from rle.plugins.settings import BonusSettings
from rle.randomness import generator


def settings_of(dimension: int, coefficient: float, others: dict[str, Any]) -> BonusSettings:
    """`BonusSettings` of a constructor's keywords."""
    known = [field.name for field in dataclasses.fields(BonusSettings)]
    for name in others:
        require(name in known, f"there is no setting {name!r}: {nearest(name, known)}")
    return BonusSettings(dimension, coefficient, **others)


class LatentWrapping:
    """Holds a `LatentBonus` and says how φ is made, followed, saved and loaded."""

    observations: LatentObservation
    """How z stands beside an observation."""
    bonus: LatentBonus
    """z, φ, its statistics, and F."""

    def _wrap(
        self,
        space: spaces.Space[Any],
        num_envs: int,
        settings: BonusSettings,
        features: nn.Module | None,
        latent: Any,
        seed: int,
        device: torch.device | str,
    ) -> None:
        width = settings.features
        self.observations = LatentObservation(space, settings.dimension, settings.largest)
        self._feature_seed = seed
        if features is None:
            features = RandomFeatures(space, width, generator(seed, "features"))
        else:
            check_features(features, space, width)
        fixed = fixed_latent(latent)
        self.bonus = LatentBonus(num_envs, settings, features, seed, fixed, device)

    def shown(self) -> npt.NDArray[np.float32]:
        """The z `[N, d]` under which the next actions are taken: an array of the caller's."""
        return self.bonus.z.cpu().numpy().astype(np.float32)

    def evaluation_settings(self) -> dict[str, Any]:
        """Keywords of a wrapper that shows z as this one does and pays nothing."""
        return dataclasses.asdict(self.bonus.settings) | {"coefficient": 0.0}

    def follow(self, leader: nn.Module, rate: float = 0.005) -> None:
        """One step of φ ← τ V + (1-τ) φ with τ = `rate`: call it after every gradient step.

        The first call makes φ a copy of `leader` with a random layer at its end, and starts F's
        statistics afresh: make it before the first step. z is zero in what φ sees.

        Args:
            leader: the layers of your value network that map what the wrapper shows, as tensors with z,
                to one vector per observation.
            rate: τ; the paper's is 0.005.

        """
        if not isinstance(self.bonus.features, FollowingFeatures):
            settings = self.bonus.settings
            source = generator(self._feature_seed, "features")
            features = FollowingFeatures(
                leader, self.observations, settings.dimension, settings.features, source
            )
            self.bonus.features = features.to(self.bonus.device)
            self.bonus.restart_statistics()
        self.bonus.features.follow(leader, rate)

    def reward_of(self, observation: Any, z: Tensor) -> Tensor:
        """F `[N]` of a tree of tensors `[N, ...]` without z, under z `[N, d]`; changes nothing."""
        with torch.no_grad():
            return self.bonus.reward(self.bonus.features(observation), z)

    def commit(self) -> None:
        """Use all statistics gathered so far now, rather than after `commit_every` steps."""
        self.bonus.commit()

    def check(self, sensitivity: float | None = None) -> list[Finding]:
        """What keeps RLE from working here, judged by the last steps of training; the worst first.

        `sensitivity` is how far your policy's actions under two z differ, in nats, if you know it.
        """
        return self.bonus.check(sensitivity)

    def state_dict(self) -> dict[str, Any]:
        """z, φ, its statistics and scale, and where random numbers come from."""
        return self.bonus.state_dict()

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on from a state of `state_dict`."""
        self.bonus.load_state_dict(state)

    def save(self, path: str | Path) -> None:
        """Write `state_dict` to a file: tensors and numbers, no code."""
        Path(path).write_bytes(packed(self.state_dict()))

    def load(self, path: str | Path) -> None:
        """Go on from what `save` wrote."""
        try:
            content = Path(path).read_bytes()
        except OSError as error:
            raise UsageError(f"{path} cannot be read: {error.strerror}.") from error
        self.load_state_dict(unpacked(content))


def packed(state: dict[str, Any]) -> bytes:
    """A state of tensors and numbers as bytes."""
    buffer = io.BytesIO()
    torch.save(state, buffer)
    return buffer.getvalue()


def unpacked(content: bytes) -> dict[str, Any]:
    """What `packed` was given; nothing but tensors and numbers is read."""
    state: dict[str, Any] = torch.load(io.BytesIO(content), map_location="cpu", weights_only=True)
    return state
