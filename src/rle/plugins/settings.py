"""What z is, how long it is followed, and what F is: the settings of every plug-in."""

from __future__ import annotations

from dataclasses import dataclass

from rle.checks import require_choice, require_fraction, require_not_negative, require_positive
from rle.core.distributions import (
    LATENT_DISTRIBUTIONS,
    LatentDistribution,
    check_latent_distribution,
)

LARGEST = {"sphere": 1.0, "uniform": 0.5}
"""What bounds the entries of z; nothing bounds those of other laws."""


@dataclass(frozen=True)
class BonusSettings:
    """What z is, how long it is followed, and what F is."""

    dimension: int = 8
    """d, the size of z."""
    coefficient: float = 0.1
    """What the bonus weighs beside the task's reward; 0 shows z and pays nothing."""
    resample_every: int = 128
    """S, the steps under one z; an episode's end gives a new one in any case."""
    distribution: str | LatentDistribution = "sphere"
    """sphere, uniform, normal, or a function (shape, generator) -> z."""
    standardise: bool = True
    """Standardise φ by its running mean and deviation; there is no F before they are known."""
    unit_norm: bool = True
    """Divide φ by its norm."""
    scale_bonus: bool = True
    """Divide the bonus by the running deviation of its discounted sum; nothing is paid before it is
    known."""
    discount: float = 0.99
    """Of that sum; and of the bonus's return, where it has a value head of its own."""
    commit_every: int = 128
    """Steps of all environments after which F and its scale use what was seen meanwhile."""
    stagger: bool = False
    """Let environments start at different places of their S steps."""

    def __post_init__(self) -> None:
        require_positive("dimension", self.dimension)
        require_not_negative("coefficient", self.coefficient)
        require_positive("resample_every", self.resample_every)
        require_fraction("discount", self.discount)
        require_positive("commit_every", self.commit_every)
        if callable(self.distribution):
            check_latent_distribution(
                self.distribution,
                self.dimension,
                getattr(self.distribution, "__name__", "distribution"),
            )
        else:
            require_choice("distribution", self.distribution, tuple(LATENT_DISTRIBUTIONS))

    @property
    def largest(self) -> float:
        """The largest entry that z can have."""
        return (
            LARGEST.get(self.distribution, float("inf"))
            if isinstance(self.distribution, str)
            else float("inf")
        )
