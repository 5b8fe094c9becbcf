"""The numbers of `sparse/`: one set for each kind of observation, the same for every strategy."""

from __future__ import annotations

from collections.abc import Mapping

from rle.presets.control import CONTROL, DESKTOP, DESKTOP_PPO
from rle.presets.fourroom import FOURROOM_PPO, GYM
from rle.presets.tables import Presets, Settings, Tables
from rle.tasks.suites.sparse import Kind, about

STATES_PPO: Settings = {
    **FOURROOM_PPO,
    "environment.time_limit": None,
    "threads": 1,
}
"""Numbered states and coordinates of cells: FourRoom's."""

VIEW_PPO: Settings = {
    **STATES_PPO,
    "network.policy_hidden": (128, 64),
    "network.value_hidden": (128, 64),
}
"""MiniGrid's symbolic view: wider at first, for 984 zeros and ones."""

CONTROL_PPO: Settings = {**DESKTOP_PPO, "environment.time_limit": None}
"""Measurements of moving things: the control tasks' `desktop`."""

KINDS: Mapping[Kind, tuple[Settings, tuple[Mapping[str, Settings], ...]]] = {
    "states": (STATES_PPO, (GYM,)),
    "view": (VIEW_PPO, (GYM,)),
    "control": (CONTROL_PPO, (CONTROL, DESKTOP)),
}
"""The learner's numbers and the strategies' by kind of observation."""


def _tables(name: str, preset: str) -> Tables:
    """The numbers of the task called `name`."""
    found = about(name)
    learner, strategies = KINDS[found.kind]
    sizes = {"total_steps": found.steps, "checkpoint_every": found.steps}
    return Tables({**learner, **sizes}, strategies)


SPARSE_PRESETS = Presets(_tables, ("desktop",), default="desktop")
