"""RLE in Stable-Baselines3's agents.

env = VecRandomLatentExploration(make_vec_env("CartPole-v1", 8), dimension=8)
model = PPO("MlpPolicy", env).learn(100_000)          # or any other agent
model = RLEPPO("MlpPolicy", env).learn(100_000)       # with a value head for the bonus
"""

from rle.plugins.extras import missing

try:
    import stable_baselines3  # noqa: F401
except ImportError:
    raise missing("rle.plugins.sb3", "Stable-Baselines3", "sb3") from None

from rle.plugins.sb3.check import check
from rle.plugins.sb3.following import FollowValueFeatures
from rle.plugins.sb3.ppo import RLEPPO
from rle.plugins.sb3.replay import LatentDictReplayBuffer, LatentReplayBuffer, replaying
from rle.plugins.sb3.saving import load, save
from rle.plugins.sb3.vec_env import VecRandomLatentExploration, exploration_of
from rle.plugins.settings import WHITENED

__all__ = [
    "RLEPPO",
    "WHITENED",
    "FollowValueFeatures",
    "LatentDictReplayBuffer",
    "LatentReplayBuffer",
    "VecRandomLatentExploration",
    "check",
    "exploration_of",
    "load",
    "replaying",
    "save",
]
