"""What a figure is, before anybody draws it: panels of the grid world, or curves.

Both drawings, the one in the page (`svg`) and the one in a file (`plots`), start from these.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rle.report.style import LineStyle

FloatArray = npt.NDArray[np.float64]
Pixels = npt.NDArray[np.uint8]
"""`[51, 51, 4]`, red, green, blue and opacity of every cell."""


@dataclass(frozen=True, eq=False)
class Path:
    """A line over the grid: rows and columns of the cells it passes."""

    rows: FloatArray
    columns: FloatArray
    colour: str


@dataclass(frozen=True, eq=False)
class Panel:
    """One picture of the grid world."""

    title: str
    detail: str = ""
    """A second line below the title."""
    pixels: Pixels | None = None
    """Coloured cells, painted over floor and walls."""
    paths: tuple[Path, ...] = ()
    goal: bool = False
    television: tuple[int, int] | None = None
    missing: str = ""
    """Why there is nothing to see."""


@dataclass(frozen=True, eq=False)
class PanelGroup:
    """Panels under one heading."""

    title: str
    panels: tuple[Panel, ...]


@dataclass(frozen=True)
class ColourScale:
    """What the colours of a figure mean."""

    label: str
    colours: tuple[str, ...]
    """From the low end to the high end."""
    ticks: tuple[tuple[float, str], ...]
    """Position from 0 to 1, and what it stands for."""


@dataclass(frozen=True, eq=False)
class PanelFigure:
    """Pictures of the grid world side by side."""

    name: str
    """Of its files."""
    title: str
    caption: str
    groups: tuple[PanelGroup, ...]
    columns: int
    scale: ColourScale | None = None
    unvisited: bool = False
    """Whether a cell without colour is one that was never visited."""
    folded: bool = False
    """Shown in the page only when asked for."""


@dataclass(frozen=True, eq=False)
class Series:
    """One curve with its band."""

    label: str
    style: LineStyle
    steps: FloatArray
    values: FloatArray
    low: FloatArray | None = None
    high: FloatArray | None = None


@dataclass(frozen=True, eq=False)
class CurveFigure:
    """Curves over training steps."""

    name: str
    title: str
    caption: str
    y_label: str
    series: tuple[Series, ...]
    limits: tuple[float, float]
    """Lowest and highest value shown."""
    digits: int
    ceiling: tuple[float, str] | None = None
    """A value that cannot be exceeded, and what it is called."""
    notes: tuple[str, ...] = ()
    bands: bool = True
    """Whether the bands are drawn."""


Figure = PanelFigure | CurveFigure
