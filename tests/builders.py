"""Small configurations for tests, and runs that were interrupted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from rle.config import RunConfig
from rle.explore.transitions import Transitions
from rle.presets import preset_config
from rle.runs.checkpoints import Checkpoints
from rle.runs.directory import FINISHED
from rle.runs.manifest import Manifest
from rle.runs.trainer import Trainer
from rle.settings import replace

SMALL: dict[str, Any] = {
    "num_envs": 8,
    "rollout_steps": 16,
    "policy_hidden": (16,),
    "value_hidden": (16,),
    "total_steps": 128 * 8,
    "checkpoint_every": 128 * 4,
    "compile": "off",
}
PAPERS_F: dict[str, Any] = {
    "rle__whitened_features": 0,
    "rle__rarity": 0.0,
    "rle__anneal": False,
    "rle__fade": False,
}
"""F = f·z with each feature by itself, as in the paper, on tasks whose default is another."""
SMALL_STRATEGY: dict[str, dict[str, Any]] = {
    "rle": {"rle.feature_hidden": (16,), "rle.resample_every": 5},
    "rnd": {
        "rnd.predictor_hidden": (16,),
        "rnd.target_hidden": (16,),
        "rnd.outputs": 8,
        "rnd.warmup_rollouts": 2,
    },
}


def small_config(
    explore: str, task: str = "fourroom-sparse", seed: int = 0, **settings: Any
) -> RunConfig:
    """A run of eight short iterations; settings by name, `__` for the dot."""
    config = replace(preset_config(task, explore, seed=seed), SMALL)
    for part in explore.split("+"):
        config = replace(config, SMALL_STRATEGY.get(part, {}))
    return replace(config, {name.replace("__", "."): value for name, value in settings.items()})


def into(next_observation: Tensor, latent: Tensor | None = None) -> Transitions:
    """Transitions of which only the end matters."""
    rows = len(next_observation)
    nowhere = torch.full_like(next_observation, 0)
    return Transitions(nowhere, torch.zeros(rows, dtype=torch.int64), next_observation, latent)


def trained_an_iteration(config: RunConfig) -> Trainer:
    """A trainer after one iteration that changed its parameters and met no NaN."""
    trainer = Trainer(config)
    trainer.start()
    before = trainer.learner.optimiser.flat.clone()
    metrics, _ = trainer.iterate()
    assert all(value == value for value in metrics.values())  # no NaN
    assert not torch.equal(before, trainer.learner.optimiser.flat)
    trainer.task.close()
    return trainer


def interrupt_after(path: Path, checkpoints: int) -> None:
    """Leave a finished run as if it had been killed after so many checkpoints."""
    (path / FINISHED).unlink()
    saved = Checkpoints(path)
    for step in saved.steps()[checkpoints:]:
        saved.file(step).unlink()
    manifest = Manifest.read(path)
    manifest.forget(saved.gone(manifest))
    manifest.write()
