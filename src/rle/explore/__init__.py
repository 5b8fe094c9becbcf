"""Why the agent goes somewhere: one file per strategy, all behind the `Strategy` protocol."""

from rle.explore.base import Strategy, Stream
from rle.explore.registry import check_strategy_name, make_strategy, strategy_names
from rle.explore.rle import RandomLatentExploration
from rle.explore.transitions import Transitions

__all__ = [
    "RandomLatentExploration",
    "Strategy",
    "Stream",
    "Transitions",
    "check_strategy_name",
    "make_strategy",
    "strategy_names",
]
