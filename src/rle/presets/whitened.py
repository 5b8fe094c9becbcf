"""RLE as it is unless the paper's numbers are asked for: whitened features, one set for all tasks."""

from __future__ import annotations

from rle.presets.tables import Settings

QUIET_VALUES: Settings = {
    # A task that has not paid yet has no advantage, rather than that of random first values; every
    # strategy learns with the same.
    "network.value_gain": 0.0,
}

MODEST_REWARDS: Settings = {
    # Rewards of any size, but a first, small cost is not blown up to the size of a goal.
    "learner.scale_reward": True,
    "learner.enlarge_reward": False,
}

WHITENED_RLE: Settings = {
    "rle.coefficient": 0.03,
    # Full while nothing pays, whatever the coefficient; and in the end the agent is the task's alone.
    "rle.anneal": True,
    # Few beside the z in a rollout: more cannot be told from chance.
    "rle.dimension": 4,
    "rle.distribution": "sphere",
    "rle.resample_every": 128,
    "rle.discount": 0.99,
    "rle.scale_bonus": True,
    "rle.standardise": True,
    "rle.unit_norm": False,
    "rle.whitened_features": 128,
    "rle.rarity": 1.0,
    "rle.centre_rarity": True,
    "rle.episodic_rarity": True,
    # Only where observations are normalised: what hardly ever moves and then jumps is not all there is.
    "rle.feature_clip": 1.5,
    # However little the bonus weighs, Adam moves what reads z at full speed: show less of it then.
    "rle.fade": True,
    "rle.feature_hidden": (128, 128),
    "rle.feature_activation": "relu",
    "rle.feature_update_rate": 0.0,
    "rle.value_coefficient": 0.5,
}
"""Each number is explained in docs/whitening.md."""
