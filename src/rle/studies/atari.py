"""The Atari studies, at the paper's size; the command line takes parts of them."""

from __future__ import annotations

from rle.studies.definitions import (
    NOISY,
    PAPER_METHODS,
    PPO,
    RLE,
    RND,
    Method,
    Study,
    ppo_matched,
    rle_with,
)
from rle.studies.registry import register
from rle.tasks.suites.atari import GAMES

STEPS = 40_000_000
"""Agent steps: 160 million frames."""
SEEDS = 5

MONTEZUMA = "atari/MontezumaRevenge"
LONGER = {MONTEZUMA: 200_000_000}
"""Agent steps of the game that is much harder to explore than the others: 800 million frames. The
paper says 200 M in its text and 400 M below its table; `--total-steps` takes the other."""

ALL_GAMES = tuple(f"atari/{game}" for game in GAMES)
ABLATION_GAMES = ("atari/Alien", "atari/Frostbite", "atari/Tutankham", "atari/Venture")
"""The paper shows its ablation games in pictures only; these are the ones its words single out: where
conditioning matters (Venture), and where φ's variants differ most (the others)."""
MINI_GAMES = ("atari/Boxing", "atari/Breakout", "atari/Freeway")
"""Games on which two million steps already show something: points come from the first minutes on in
Boxing and Breakout, and only to those who cross ten lanes in Freeway."""


def _declare(name: str, description: str, tasks: tuple[str, ...], *methods: Method) -> Study:
    return register(Study(name, description, tasks, methods, SEEDS, STEPS, own_steps=LONGER))


_declare(
    "atari57",
    "the paper's main comparison, with every game for 160 M frames, MontezumaRevenge 800 M",
    ALL_GAMES,
    *PAPER_METHODS,
)
_declare(
    "atari57-phi",
    "φ that follows the value network against frozen random φ, with PPO to improve over",
    ALL_GAMES,
    RLE,
    rle_with("frozen-features", feature_update_rate=0.0),
    PPO,
)
_declare(
    "atari57-matched",
    "PPO with RLE's learning rate, discount and reward scaling beside both",
    ALL_GAMES,
    RLE,
    PPO,
    ppo_matched("atari/Alien"),
)
_declare(
    "atari-latent-distribution",
    "z on the sphere, uniform or normal",
    ABLATION_GAMES,
    RLE,
    rle_with("uniform", distribution="uniform"),
    rle_with("normal", distribution="normal"),
    PPO,
)
_declare(
    "atari-latent-dimension",
    "how many dimensions z should have",
    ABLATION_GAMES,
    RLE,
    *(rle_with(f"d{dimension}", dimension=dimension) for dimension in (2, 8, 32, 128)),
    PPO,
)
_declare(
    "atari-conditioning",
    "networks that see z against networks that do not",
    ABLATION_GAMES,
    RLE,
    rle_with("unconditioned", condition=False, condition_on_bonus=False),
    PPO,
)
register(
    Study(
        "montezuma",
        "the game RLE alone does not solve, with RND beside it and both together, 800 M frames",
        (MONTEZUMA,),
        (RLE, PPO, RND, NOISY, Method("rle-rnd", "rle+rnd")),
        SEEDS,
        LONGER[MONTEZUMA],
    )
)
register(
    Study(
        "atari-mini",
        "RLE and PPO on three quick games: one night on two cores",
        MINI_GAMES,
        (RLE, PPO),
        seeds=2,
        # The paper's batches would make some two thousand gradient steps of this, the desktop's 15,000.
        total_steps=2_000_000,
        preset="desktop",
    )
)
