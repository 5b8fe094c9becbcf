"""RLE in rsl_rl, the learner of Isaac Lab, mjlab and MuJoCo Playground.

train_cfg["algorithm"]["class_name"] = "rle.plugins.rsl_rl:RLEPPO"      # the runner stays as it is
"""

from rle.plugins.extras import missing

try:
    import rsl_rl  # noqa: F401
except ImportError:
    raise missing("rle.plugins.rsl_rl", "rsl-rl-lib", "rsl-rl") from None

from rle.plugins.rsl_rl.features import LATENT
from rle.plugins.rsl_rl.ppo import RLEPPO, WHITENED

__all__ = ["LATENT", "RLEPPO", "WHITENED"]
