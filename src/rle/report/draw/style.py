"""How figures look: one colour per method, and colours that follow a light or a dark page."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

ORANGE = "#E69F00"
SKY_BLUE = "#56B4E9"
GREEN = "#009E73"
BLUE = "#0072B2"
VERMILLION = "#D55E00"
PURPLE = "#CC79A7"
GREY = "#8A8A8A"
"""Okabe and Ito's palette, which people with any colour vision tell apart. Its yellow and black are
left out: one cannot be seen on white paper, the other not on a dark screen."""

LINES = (BLUE, VERMILLION, GREEN, PURPLE, ORANGE, SKY_BLUE, GREY)
DASHES: tuple[tuple[float, ...], ...] = ((), (6, 3), (2, 2), (8, 2, 2, 2))
"""Once the colours are used up, the next methods are told apart by their dashes."""

_OWN_COLOUR = {
    "RLE": VERMILLION,
    "PPO": BLUE,
    "RND": GREEN,
    "NoisyNet": PURPLE,
    "White noise": ORANGE,
}

PAPER, TEXT, QUIET, RULE = "#fffffe", "#1c1e21", "#5a6068", "#d9dce1"
FLOOR, WALL = "#fefefe", "#4a4a4f"
"""Of panels with lines."""
THEMED = {
    PAPER: "var(--page)",
    TEXT: "var(--text)",
    QUIET: "var(--quiet)",
    RULE: "var(--line)",
    FLOOR: "var(--panel-floor)",
    WALL: "var(--panel-wall)",
}
"""What the page puts in the place of these colours, so that figures follow light and dark. All others
mean something and are the same on both; none of these may stand for anything else."""
UNVISITED, HEAT_WALL = "#e9e9ec", "#4a4a4e"
"""Of panels with heat maps, whose colours mean the same on a light and on a dark screen."""
MARK, HALO = "#d00000", "#ffffff"
"""The red of the paper's S and *, and what it is set apart by."""


@dataclass(frozen=True)
class LineStyle:
    """What a method's curve looks like, on every figure of a report."""

    colour: str
    dashes: tuple[float, ...] = ()


def assign_styles(labels: Iterable[str]) -> dict[str, LineStyle]:
    """A style for each method, by its label; the best-known ones always have the same colour."""
    labels = list(dict.fromkeys(labels))
    styles = {label: LineStyle(_OWN_COLOUR[label]) for label in labels if label in _OWN_COLOUR}
    taken = set(styles.values())
    free = (
        style
        for dashes in DASHES
        for style in (LineStyle(colour, dashes) for colour in LINES)
        if style not in taken
    )
    for label in labels:
        if label not in styles:
            styles[label] = next(free, LineStyle(GREY, (1, 2)))
    return {label: styles[label] for label in labels}
