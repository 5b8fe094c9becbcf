"""The numbers of `sparse/`: one set for each kind of observation, the same for every strategy."""

from __future__ import annotations

from collections.abc import Mapping

from rle.presets.control import DESKTOP_PPO
from rle.presets.fourroom import FOURROOM_PPO, GYM
from rle.presets.tables import Presets, Settings, Tables
from rle.presets.whitened import MODEST_REWARDS, QUIET_VALUES
from rle.tasks.suites.sparse import Kind, about

STATES_PPO: Settings = {
    **FOURROOM_PPO,
    **QUIET_VALUES,
    **MODEST_REWARDS,
    "environment.time_limit": None,
    "threads": 1,
}
"""Numbered states, coordinates of cells and MiniGrid's symbolic view: FourRoom's."""

CONTROL_PPO: Settings = {
    **DESKTOP_PPO,
    **MODEST_REWARDS,
    "environment.time_limit": None,
    # Twice the environments and a fifth of the gradient steps: a quarter of the time.
    "environment.num_envs": 32,
    "learner.learning_rate": 1e-3,
    "learner.minibatches": 8,
    "learner.epochs": 4,
    # Nothing tells a policy where to go at first: it had better move.
    "network.initial_action_std": 1.0,
}
"""Measurements of moving things: the control tasks' `desktop`, made cheaper."""

KINDS: Mapping[Kind, Settings] = {
    "states": STATES_PPO,
    "view": STATES_PPO,
    # Chosen on tuning runs of the cartpole, which seeds 0 to 9 did not bear out: docs/sparse.md.
    "control": {**CONTROL_PPO, "learner.discount": 0.995},
    # Not to be normalised once more: without it, rollouts are compiled as a whole.
    "centred": {**CONTROL_PPO, "environment.normalise_observations": False},
    # A hundred numbers to be understood take more gradient steps: those of the control tasks.
    "robot": {**DESKTOP_PPO, **MODEST_REWARDS, "environment.time_limit": None},
}
"""The learner's numbers by kind of observation; the strategies' are the same for all."""


def _tables(name: str, preset: str) -> Tables:
    """The numbers of the task called `name`."""
    found = about(name)
    sizes = {"total_steps": found.steps, "checkpoint_every": found.steps}
    return Tables({**KINDS[found.kind], **sizes}, (GYM,))


SPARSE_PRESETS = Presets(_tables, ("desktop",), default="desktop")
