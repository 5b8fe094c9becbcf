"""How agents are watched."""

from __future__ import annotations

from dataclasses import dataclass

SEED = 0
"""Of the latents and the actions in pictures and measures."""
RULES = 1
"""Counts the ways in which agents have been watched: what was kept of an earlier one is not used."""
TRAJECTORIES = 20
"""Trajectories an agent is watched for, each under its own z and as long as an episode may be."""


@dataclass(frozen=True)
class Plan:
    """How often, and how long."""

    draws: int
    """Different z, or samples of weight noise."""
    repeats: int
    """Trajectories of each."""
    steps: int
