"""The FourRoom studies: the paper's four methods, chance, and the controls that tell them apart."""

from __future__ import annotations

from rle.studies.definitions import (
    PAPER_METHODS,
    PPO,
    RANDOM,
    RLE,
    WHITE_NOISE,
    Method,
    Study,
    rle_with,
)
from rle.studies.registry import register

METHODS = (*PAPER_METHODS, RANDOM)

STANDARDISED = rle_with("standardised", standardise=True)
UNSCALED_BONUS = rle_with("unscaled-bonus", scale_bonus=False)

ABLATIONS = (
    RLE,
    rle_with("uniform", distribution="uniform"),
    rle_with("normal", distribution="normal"),
    *(rle_with(f"d{dimension}", dimension=dimension) for dimension in (2, 8, 16, 32, 128)),
    rle_with("unconditioned", condition=False),
    rle_with("value-features", feature_hidden=None, feature_update_rate=0.005),
    rle_with("shallow-features", feature_hidden=(64,)),
    STANDARDISED,
    UNSCALED_BONUS,
    WHITE_NOISE,
    PPO,
    RANDOM,
)

SCALED = {"scale_reward": True}
"""A first success late in training is then worth hundreds instead of one: a confound with a sparse
reward, hence the same control for every method."""

SPARSE_METHODS = (
    *METHODS,
    Method("ppo-scaled", "none", SCALED),
    Method("noisy-scaled", "noisy", SCALED),
    Method("rnd-scaled", "rnd", SCALED),
    Method("rle-scaled", "rle", SCALED),
    UNSCALED_BONUS,
    STANDARDISED,
    WHITE_NOISE,
)


def _declare(
    name: str,
    description: str,
    task: str,
    methods: tuple[Method, ...] = METHODS,
    seeds: int = 10,
) -> Study:
    return register(Study(name, description, (task,), methods, seeds, total_steps=2_500_000))


register(
    Study(
        "demo",
        "all four strategies and random actions on FourRoom without reward",
        ("fourroom",),
        # A checkpoint at each fifth, so that the pictures of three moments have theirs.
        tuple(Method(m.name, m.explore, {"checkpoint_every": 100_000}) for m in METHODS),
        seeds=2,
        total_steps=500_000,
    )
)
_declare(
    "fourroom-reward-free",
    "which strategy visits most of FourRoom without any reward",
    "fourroom",
)
_declare(
    "fourroom-sparse",
    "which strategy finds the far corner and learns to return there, rewards scaled and not",
    "fourroom-sparse",
    SPARSE_METHODS,
)
_declare(
    "fourroom-noisytv",
    "which strategy is held up by a square of random observations",
    "fourroom-noisytv",
)
register(
    Study(
        "fourroom-desktop",
        "the default outside the paper's presets in FourRoom, without reward and with the far corner",
        ("fourroom", "fourroom-sparse"),
        METHODS,
        seeds=10,
        total_steps=2_500_000,
        preset="desktop",
    )
)
_declare(
    "fourroom-ablations",
    "what each of RLE's choices does without reward",
    "fourroom",
    ABLATIONS,
    seeds=5,
)
