"""The study of the first task a new user trains on."""

from __future__ import annotations

from rle.studies.definitions import PPO, RANDOM, RLE, Study
from rle.studies.registry import register

register(
    Study(
        "mountain-car",
        "the first minutes: a car that must swing up a hill it does not know of, the defaults",
        ("gym/MountainCar-v0",),
        (RLE, PPO, RANDOM),
        seeds=10,
        total_steps=None,
    )
)
