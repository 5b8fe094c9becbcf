"""Who acts: networks, action distribution, strategy and normalisation, without anything that learns."""

from rle.agents.agent import Agent
from rle.agents.play import Played, World, play

__all__ = ["Agent", "Played", "World", "play"]
