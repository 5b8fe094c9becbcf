"""A model and its RLE wrapper in one file, which Stable-Baselines3 reads as one of its own."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any, TypeVar

from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.vec_env import VecEnv

from rle.errors import UsageError
from rle.plugins.features import FollowingFeatures
from rle.plugins.sb3.following import value_features
from rle.plugins.sb3.replay import Relabelling
from rle.plugins.sb3.vec_env import exploration_of
from rle.plugins.wrapping import packed, unpacked

Model = TypeVar("Model", bound=BaseAlgorithm)
ENTRY = "random_latent_exploration"
"""Without a suffix: what ends in .pth belongs to the model."""


def save(model: BaseAlgorithm, path: str | Path) -> Path:
    """Write the model with its wrapper's z, φ, statistics and scale; returns where (`.zip`)."""
    env = exploration_of(model.get_env())
    file = _with_suffix(path)
    model.save(file)
    follows = isinstance(env.bonus.features, FollowingFeatures)
    with zipfile.ZipFile(file, "a") as archive:
        archive.writestr(ENTRY, packed({"follows": follows, "state": env.state_dict()}))
    return file


def load(algorithm: type[Model], path: str | Path, env: VecEnv, **kwargs: Any) -> Model:
    """A model that `save` wrote, with `env`, whose wrapper goes on where the saved one was.

    Args:
        algorithm: the model's class.
        path: what `save` was given.
        env: environments in a `VecRandomLatentExploration` with the settings of those trained with.
        **kwargs: as for the algorithm's own `load`.

    """
    file = _with_suffix(path)
    wrapper = exploration_of(env)
    try:
        with zipfile.ZipFile(file) as archive:
            saved = unpacked(archive.read(ENTRY))
    except (OSError, zipfile.BadZipFile) as error:
        raise UsageError(f"{file} cannot be read as a saved model.") from error
    except KeyError as error:
        raise UsageError(
            f"{file} has a model without its wrapper: save both by rle.plugins.sb3.save."
        ) from error
    model = algorithm.load(file, env=env, **kwargs)
    if saved["follows"]:
        wrapper.follow(value_features(model), 0.0)
    wrapper.load_state_dict(saved["state"])
    replay = getattr(model, "replay_buffer", None)
    if isinstance(replay, Relabelling):
        replay.connect(env)
    return model


def _with_suffix(path: str | Path) -> Path:
    path = Path(path)
    return path if path.suffix == ".zip" else path.with_name(path.name + ".zip")
