"""No exploration beyond the policy's own randomness: with it, the training loop is PPO."""

from rle.explore.base import Strategy
from rle.explore.records import StrategyRecord


class NoExploration(Strategy):
    """Adds nothing."""


RECORD = StrategyRecord(
    "none",
    "plain PPO: the policy's own randomness",
    lambda config, settings, spec, device: NoExploration(),
)
