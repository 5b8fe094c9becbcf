"""The continuous-control studies, at the paper's size and at one for a few cores."""

from __future__ import annotations

from collections.abc import Iterator

from rle.studies.definitions import (
    PPO,
    PPO_SCALED,
    RLE,
    RND,
    WHITE_NOISE,
    Method,
    Study,
    rle_with,
)
from rle.studies.registry import register
from rle.tasks.suites.control import TASKS

SEEDS = 5
NINE = tuple(f"control/{name}" for name in TASKS)

PPO_UNSCALED = Method("ppo-unscaled-reward", "none", {"scale_reward": False, "reward_clip": None})


# It has not the shape to follow the value network, which is a second difference from RLE: the method
# after it has that one alone. The paper does not say how much narrower than (512, 512, 256): half.
PAPER_FEATURES = (
    rle_with("shallow-features", feature_hidden=(256, 128), feature_update_rate=0.0),
    rle_with("frozen-features", feature_update_rate=0.0),
)
# There φ is frozen anyway, and (128, 128). The paper's eight gradient steps of an iteration, at 0.005
# each, add up to 0.04.
DESKTOP_FEATURES = (
    rle_with("shallow-features", feature_hidden=(64,)),
    rle_with(
        "following-features",
        feature_hidden=None,
        feature_update_rate=0.04,
        feature_update="iteration",
    ),
)


def _studies(
    preset: str, suffix: str, other_features: tuple[Method, ...], other_ppo: Method
) -> Iterator[Study]:
    """The three studies with the numbers of `preset`, each run as long as it says.

    `other_features` are RLE with another φ, one of them with a layer less than the preset's and narrower
    ones; `other_ppo` is PPO with the reward scaled if the preset's is not, and the other way round.
    """

    def study(name: str, description: str, *methods: Method) -> Study:
        name, where = f"{name}{suffix}", f"{description}, nine robots, the {preset} preset"
        return Study(name, where, NINE, methods, SEEDS, None, preset)

    yield study("control9", "the paper's main comparison", RLE, PPO, other_ppo, RND)
    yield study(
        "control9-phi",
        "φ against a narrower and shallower one, frozen and following the value network",
        RLE,
        *other_features,
        PPO,
    )
    yield study(
        "control9-white-noise", "white noise in the place of RLE's bonus", RLE, WHITE_NOISE, PPO
    )


for _study in (
    *_studies("paper", "", PAPER_FEATURES, PPO_SCALED),
    # There the reward of every method is scaled.
    *_studies("desktop", "-desktop", DESKTOP_FEATURES, PPO_UNSCALED),
):
    register(_study)
