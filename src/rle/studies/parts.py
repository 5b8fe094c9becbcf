"""Parts of a study for machines that know nothing of each other: the K-th of N."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TypeVar

from rle.checks import require, short

Run = TypeVar("Run")


def part_of(runs: Mapping[str, Run], only: str) -> dict[str, Run]:
    """The runs of part `K/N`: of all runs, done or not, the K-th and every N-th after it."""
    found = re.fullmatch(r"([1-9]\d{0,8})/([1-9]\d{0,8})", only, re.ASCII)
    require(
        found is not None,
        f"only is {short(repr(only))}: give K/N, such as 1/8 for the first of eight parts.",
    )
    assert found is not None
    part, parts = int(found[1]), int(found[2])
    require(part <= parts, f"only is {only}: there are {parts} parts, counted from 1.")
    require(
        parts <= len(runs),
        f"only is {only}, and there are {len(runs)} runs: make no more parts than that.",
    )
    return dict(list(runs.items())[part - 1 :: parts])
