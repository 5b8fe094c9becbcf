"""Logs: thinned, or read from their end; and whether they agree with each other.

A curve needs a few hundred points, a score the last 128 episodes. The Atari grid of the paper is 1140
runs of 2441 iterations and some 25 000 episodes each: parsing every line of it takes minutes and shows
nothing more.
"""

from __future__ import annotations

import math
import os
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from rle.runs.directory import EPISODES, METRICS
from rle.runs.files import read_whole, reading
from rle.runs.logs import WINDOW, parse_line

MOST_LINES = 201
"""So many lines of a log are parsed; a curve is drawn with fewer points."""
_BLOCK = 32 * 1024
"""Bytes read from the end of a file at first; 128 episodes take about 12 000."""


class Thinned(NamedTuple):
    """Some lines of a log."""

    lines: list[dict[str, Any]]
    damaged: int = 0
    """How many were left out because they are no objects."""
    cut_short: bool = False
    """Whether the last one lacks its end and was left out."""


def thinned_lines(path: Path, most: int = MOST_LINES) -> Thinned:
    """Objects of a JSON-lines file.

    All of a short file. Of a long one `most` at even distances, the first and the last among them,
    unless it holds NaN, infinity or a line that is no object: these must be counted, so it is then read
    whole.
    """
    if not path.exists():
        return Thinned([])
    data = read_whole(path)
    whole = data[: data.rfind(b"\n") + 1]
    lines = whole.split(b"\n")[:-1]
    if (
        len(lines) > most
        and b"NaN" not in whole
        and b"Infinity" not in whole
        and whole.count(b"}\n{") == len(lines) - 1
    ):
        kept = np.linspace(0, len(lines) - 1, most).round().astype(int)
        lines = [lines[number] for number in kept]
    found = _objects(lines)
    return Thinned(found, len(lines) - len(found), len(whole) < len(data))


def _objects(lines: list[bytes]) -> list[dict[str, Any]]:
    """Lines that are damaged are left out."""
    return [value for line in lines if (value := parse_line(line)) is not None]


def last_lines(path: Path, number: int) -> list[dict[str, Any]]:
    """The last `number` objects of a JSON-lines file, read from its end."""
    if not path.exists():
        return []
    block = _BLOCK
    with reading(path) as file:
        size = file.seek(0, os.SEEK_END)
        while True:
            start = max(0, size - block)
            file.seek(start)
            data = file.read(size - start)
            lines = data[: data.rfind(b"\n") + 1].split(b"\n")[:-1]
            # The first line of a block that starts inside the file may lack its beginning.
            if start == 0 or len(lines) > number:
                return _objects(lines[-number:])
            block *= 4


def lines_after(path: Path, step: float) -> list[dict[str, Any]]:
    """The objects of a JSON-lines file, in order of their steps, that lie beyond `step`."""
    if not path.exists():
        return []
    data = read_whole(path)
    found: list[dict[str, Any]] = []
    for line in reversed(data[: data.rfind(b"\n") + 1].split(b"\n")[:-1]):
        values = parse_line(line)
        if values is not None and values["step"] <= step:
            break
        found += [] if values is None else [values]
    return found[::-1]


def scores_of(episodes: list[dict[str, Any]]) -> list[float]:
    """The scores of those that have one."""
    found = [episode.get("score") for episode in episodes]
    return [score for score in found if isinstance(score, int | float)]


def doubtful_episodes(path: Path) -> list[str]:
    """Whether the last episodes are those that the metrics speak of.

    What was logged after the last checkpoint no checksum covers; but metrics count the episodes of every
    iteration, and average the last scores.
    """
    lines = last_lines(path / METRICS, WINDOW)
    if not lines:
        return []
    latest, until = lines[-1], lines[-1].get("iteration", 0)
    episodes = [
        episode
        for episode in last_lines(path / EPISODES, 2 * WINDOW)
        if episode.get("iteration", 0) <= until
    ]
    found = Counter(episode.get("iteration") for episode in episodes[-WINDOW:])
    counting = (line for line in reversed(lines) if isinstance(line.get("episodes"), int))
    ended = next((line for line in counting if line["episodes"]), None)
    if ended is not None and found[ended.get("iteration")] < min(ended["episodes"], WINDOW):
        return [f"{EPISODES} ends before {METRICS} does: its last episodes are not the run's."]
    scores, told = scores_of(episodes[-WINDOW:]), latest.get("score")
    if not (scores and isinstance(told, float) and math.isfinite(told)):
        return []
    if not math.isclose(told, float(np.mean(scores)), rel_tol=1e-6, abs_tol=1e-6):
        return [
            f"{METRICS} and {EPISODES} do not agree on the last scores: one of them was changed."
        ]
    return []
