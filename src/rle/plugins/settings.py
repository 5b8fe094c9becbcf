"""What z is, how long it is followed, and what F is: the settings of every plug-in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from rle.checks import (
    require,
    require_choice,
    require_fraction,
    require_not_negative,
    require_positive,
)
from rle.core.distributions import (
    LATENT_DISTRIBUTIONS,
    LatentDistribution,
    check_latent_distribution,
)

LARGEST = {"sphere": 1.0, "uniform": 0.5}
"""What bounds the entries of z; nothing bounds those of other laws."""
WHITENED: dict[str, Any] = {
    "dimension": 4,
    "whitened_features": 128,
    "rarity": 1.0,
    "standardise": True,
    "unit_norm": False,
}
"""The F that this package's own trainer pays by default, as far as it can be paid step by step."""


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
    whitened_features: int = 0
    """φ has so many features, which are whitened (made uncorrelated over all states seen) and mixed
    down to d; 0: φ has d, as in the paper."""
    rarity: float = 0.0
    """What the rarity of a state pays beside z, less its mean between the last two commits; needs
    whitened features."""
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
        require_not_negative("whitened_features", self.whitened_features)
        require_not_negative("rarity", self.rarity)
        require(
            self.whitened_features == 0 or (self.standardise and not self.unit_norm),
            "whitened_features are standardised, and their size tells how rare a state is: set "
            "standardise=True and unit_norm=False.",
        )
        require(
            self.rarity == 0 or self.whitened_features > 0,
            "rarity is measured by whitened features: set whitened_features, say to 128.",
        )
        if callable(self.distribution):
            check_latent_distribution(
                self.distribution,
                self.dimension,
                getattr(self.distribution, "__name__", "distribution"),
            )
        else:
            require_choice("distribution", self.distribution, tuple(LATENT_DISTRIBUTIONS))

    @property
    def features(self) -> int:
        """How many numbers φ makes of a state."""
        return self.whitened_features or self.dimension

    @property
    def largest(self) -> float:
        """The largest entry that z can have."""
        return (
            LARGEST.get(self.distribution, float("inf"))
            if isinstance(self.distribution, str)
            else float("inf")
        )
