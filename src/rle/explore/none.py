"""No exploration beyond the policy's own randomness: with it, the training loop is PPO."""

from rle.explore.base import Strategy


class NoExploration(Strategy):
    """Adds nothing."""
