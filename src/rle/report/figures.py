"""What a figure is, before anybody draws it: panels of the grid world, curves, estimates, bars.

Both drawings, the one in the page (`svg`, `svg_charts`) and the one in a file (`plots`), start from
these.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from rle.report.style import LineStyle
from rle.stats import Interval

FloatArray = npt.NDArray[np.float64]
Pixels = npt.NDArray[np.uint8]
"""`[51, 51, 4]`, red, green, blue and opacity of every cell."""


@dataclass(frozen=True, eq=False)
class Path:
    """A line over the grid: rows and columns of the cells it passes, which are whole cells apart."""

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

    kind: ClassVar[str] = "panels"
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
    """Training steps, or whatever else the horizontal axis shows."""
    values: FloatArray
    low: FloatArray | None = None
    high: FloatArray | None = None


@dataclass(frozen=True, eq=False)
class CurveFigure:
    """Curves over training steps or thresholds."""

    kind: ClassVar[str] = "curves"
    name: str
    title: str
    caption: str
    y_label: str
    series: tuple[Series, ...]
    limits: tuple[float, float]
    """Lowest and highest value shown."""
    digits: int
    ceiling: tuple[float, str] | None = None
    """A value that means something, and what it is called."""
    notes: tuple[str, ...] = ()
    bands: bool = True
    """Whether the bands are drawn."""
    x_label: str = "training steps"
    x_digits: int | None = None
    """Decimals of the horizontal axis; None: it shows steps."""


@dataclass(frozen=True, eq=False)
class GridFigure:
    """Many small curve figures under one legend."""

    kind: ClassVar[str] = "grid"
    name: str
    title: str
    caption: str
    legend: tuple[tuple[str, LineStyle], ...]
    panels: tuple[CurveFigure, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class EstimateRow:
    """One estimate with its interval."""

    label: str
    colour: str
    interval: Interval


@dataclass(frozen=True, eq=False)
class EstimateFigure:
    """Estimates below each other, each a dot with its interval."""

    kind: ClassVar[str] = "estimates"
    name: str
    title: str
    caption: str
    x_label: str
    rows: tuple[EstimateRow, ...]
    limits: tuple[float, float]
    digits: int
    reference: tuple[float, str] | None = None
    """A value to compare with, and what it is called."""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class BarStyle:
    """What the bars of one method look like."""

    label: str
    colour: str
    faint: bool = False


@dataclass(frozen=True)
class BarGroup:
    """The bars of one task, one per method; None where there is no value."""

    title: str
    values: tuple[float | None, ...]


@dataclass(frozen=True, eq=False)
class BarFigure:
    """A bar for every task and method, on a scale that is linear near 0 and logarithmic beyond."""

    kind: ClassVar[str] = "bars"
    name: str
    title: str
    caption: str
    x_label: str
    methods: tuple[BarStyle, ...]
    groups: tuple[BarGroup, ...]
    digits: int
    reference: tuple[float, str]
    """A value to compare with, and what it is called."""
    notes: tuple[str, ...] = ()

    @property
    def range(self) -> tuple[float, float]:
        """Lowest and highest value, 0 and the reference among them."""
        values = [value for group in self.groups for value in group.values if value is not None]
        return min(0.0, *values), max(self.reference[0], *values)


Figure = PanelFigure | CurveFigure | GridFigure | EstimateFigure | BarFigure

BAR_LINEAR_WIDTH = 0.2
"""Bars are drawn at asinh(value / this): linear below, logarithmic above."""
BAR_TICKS = (-10.0, -1.0, 0.0, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0)
