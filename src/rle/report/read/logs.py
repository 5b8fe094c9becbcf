"""Reading long logs quickly: a curve needs a few hundred points, a score the last 128 episodes.

The Atari grid of the paper is 1140 runs of 2441 iterations and some 25 000 episodes each: parsing
every line of it takes minutes and shows nothing more.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np

MOST_LINES = 201
"""So many lines of a log are parsed; a curve is drawn with fewer points."""
_BLOCK = 32 * 1024
"""Bytes read from the end of a file at first; 128 episodes take about 12 000."""


def thinned_lines(path: Path, most: int = MOST_LINES) -> tuple[list[dict[str, Any]], bool]:
    """Objects of a JSON-lines file, and whether its last line was cut short and left out.

    All of a short file. Of a long one `most` at even distances, the first and the last among them,
    unless it holds NaN or infinity: these must be counted, so it is then read whole.

    Raises:
        ValueError: a line is not an object.

    """
    if not path.exists():
        return [], False
    data = path.read_bytes()
    whole = data[: data.rfind(b"\n") + 1]
    lines = whole.split(b"\n")[:-1]
    if len(lines) > most and b"NaN" not in whole and b"Infinity" not in whole:
        if whole.count(b"}\n{") != len(lines) - 1:
            raise ValueError(f"{path.name} has a line that is not an object")
        kept = np.linspace(0, len(lines) - 1, most).round().astype(int)
        lines = [lines[number] for number in kept]
    return [json.loads(line) for line in lines], len(whole) < len(data)


def last_lines(path: Path, number: int) -> list[dict[str, Any]]:
    """The last `number` objects of a JSON-lines file, read from its end."""
    if not path.exists():
        return []
    block = _BLOCK
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        while True:
            start = max(0, size - block)
            file.seek(start)
            data = file.read(size - start)
            lines = data[: data.rfind(b"\n") + 1].split(b"\n")[:-1]
            # The first line of a block that starts inside the file may lack its beginning.
            if start == 0 or len(lines) > number:
                return [json.loads(line) for line in lines[-number:]]
            block *= 4


def lines_after(path: Path, step: float) -> list[dict[str, Any]]:
    """The objects of a JSON-lines file, in order of their steps, that lie beyond `step`."""
    if not path.exists():
        return []
    data = path.read_bytes()
    found: list[dict[str, Any]] = []
    for line in reversed(data[: data.rfind(b"\n") + 1].split(b"\n")[:-1]):
        values = json.loads(line)
        if values["step"] <= step:
            break
        found.append(values)
    return found[::-1]
