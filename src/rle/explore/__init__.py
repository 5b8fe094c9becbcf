"""Why the agent goes somewhere: one file per strategy, all behind the `Strategy` protocol."""

from typing import TYPE_CHECKING

from rle.lazy import lazy_names

if TYPE_CHECKING:
    from rle.explore.base import Strategy, Stream
    from rle.explore.records import StrategyRecord
    from rle.explore.registry import check_strategy_name, make_strategy, strategy_names
    from rle.explore.rle import RandomLatentExploration
    from rle.explore.transitions import Transitions

__all__ = [
    "RandomLatentExploration",
    "Strategy",
    "StrategyRecord",
    "Stream",
    "Transitions",
    "check_strategy_name",
    "make_strategy",
    "strategy_names",
]

_OF_REGISTRY = ("check_strategy_name", "make_strategy", "strategy_names")
__getattr__ = lazy_names(
    __name__,
    {
        **dict.fromkeys(_OF_REGISTRY, "rle.explore.registry"),
        "RandomLatentExploration": "rle.explore.rle",
        "Strategy": "rle.explore.base",
        "StrategyRecord": "rle.explore.records",
        "Stream": "rle.explore.base",
        "Transitions": "rle.explore.transitions",
    },
)
