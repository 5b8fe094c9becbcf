"""Atari 2600: the 57 games of the paper, on EnvPool."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rle.checks import nearest
from rle.config import EnvironmentConfig
from rle.errors import UsageError
from rle.tasks.suite import Suite, Wanted, register

if TYPE_CHECKING:
    from rle.tasks.base import Task
    from rle.tasks.film.stage import Filmed

# fmt: off
GAMES = (
    "Alien", "Amidar", "Assault", "Asterix", "Asteroids", "Atlantis", "BankHeist", "BattleZone",
    "BeamRider", "Berzerk", "Bowling", "Boxing", "Breakout", "Centipede", "ChopperCommand",
    "CrazyClimber", "Defender", "DemonAttack", "DoubleDunk", "Enduro", "FishingDerby", "Freeway",
    "Frostbite", "Gopher", "Gravitar", "Hero", "IceHockey", "Jamesbond", "Kangaroo", "Krull",
    "KungFuMaster", "MontezumaRevenge", "MsPacman", "NameThisGame", "Phoenix", "Pitfall", "Pong",
    "PrivateEye", "Qbert", "Riverraid", "RoadRunner", "Robotank", "Seaquest", "Skiing", "Solaris",
    "SpaceInvaders", "StarGunner", "Surround", "Tennis", "TimePilot", "Tutankham", "UpNDown",
    "Venture", "VideoPinball", "WizardOfWor", "YarsRevenge", "Zaxxon",
)
# fmt: on
"""The 57 games of the paper."""


def check_game(name: str) -> None:
    """Raise `UsageError` with the nearest name unless `name` is one of the 57 games."""
    if name not in GAMES:
        raise UsageError(f"there is no Atari game {name!r}: {nearest(name, GAMES)}")


def _build(wanted: Wanted) -> Task:
    from rle.tasks.atari import AtariTask

    return AtariTask(wanted.name, wanted.config, wanted.device, wanted.engine_threads)


def _film(name: str, config: EnvironmentConfig) -> Filmed:
    from rle.tasks.film.game import FilmedGame

    return FilmedGame(name, config)


SUITE = register(
    Suite(
        name="atari",
        tasks={
            "<Game>": "any of the 57 Atari games, e.g. atari/MontezumaRevenge (extra: atari)",
        },
        build=_build,
        names=lambda: GAMES,
        check=check_game,
        takes=lambda name: ("full_action_space", "engine_threads"),
        images=True,
        continuous=False,
        film=_film,
    )
)
