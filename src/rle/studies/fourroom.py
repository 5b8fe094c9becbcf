"""The FourRoom studies."""

from __future__ import annotations

from rle.studies.definitions import (
    PAPER_METHODS,
    PPO,
    PPO_SCALED,
    RLE,
    WHITE_NOISE,
    Method,
    Study,
    ppo_matched,
    rle_with,
)

RAW_FEATURES = rle_with("raw-features", standardise=False)

ABLATIONS = (
    RLE,
    rle_with("uniform", law="uniform"),
    rle_with("normal", law="normal"),
    *(rle_with(f"d{dimension}", dimension=dimension) for dimension in (2, 8, 16, 32, 128)),
    rle_with("unconditioned", condition=False),
    rle_with(
        "value-features",
        feature_hidden=None,
        feature_activation="tanh",
        feature_update_rate=0.005,
    ),
    rle_with("shallow-features", feature_hidden=(64,)),
    RAW_FEATURES,
    WHITE_NOISE,
    PPO,
    PPO_SCALED,
    ppo_matched("fourroom"),
)


def _fourroom(
    name: str,
    description: str,
    task: str,
    methods: tuple[Method, ...] = PAPER_METHODS,
    seeds: int = 10,
) -> Study:
    return Study(name, description, (task,), methods, seeds, total_steps=2_500_000)


FOURROOM_STUDIES = (
    Study(
        "demo",
        "all four strategies on FourRoom without reward",
        ("fourroom",),
        PAPER_METHODS,
        seeds=2,
        total_steps=500_000,
    ),
    _fourroom(
        "fourroom-reward-free",
        "which strategy visits most of FourRoom without any reward",
        "fourroom",
    ),
    _fourroom(
        "fourroom-sparse",
        "which strategy finds the far corner and learns to return there",
        "fourroom-sparse",
    ),
    _fourroom(
        "fourroom-noisytv",
        "which strategy is held up by a square of random observations",
        "fourroom-noisytv",
    ),
    _fourroom(
        "fourroom-ablations",
        "what each of RLE's choices does without reward",
        "fourroom",
        ABLATIONS,
        seeds=5,
    ),
    _fourroom(
        "fourroom-sparse-ablations",
        "whether what explores as widely as RLE without reward also finds the far corner",
        "fourroom-sparse",
        (WHITE_NOISE, RAW_FEATURES),
    ),
)
