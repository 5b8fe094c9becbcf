"""What a figure is, before it is drawn: curves, estimates, bars, panels of the grid world."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from rle.report.draw.style import LineStyle
from rle.report.read.records import Curve, FloatArray
from rle.stats import Interval

Pixels = npt.NDArray[np.uint8]
"""`[51, 51, 4]`, red, green, blue and opacity of every cell."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Figure:
    """What every figure has."""

    wide: ClassVar[bool] = False
    """Whether it takes the whole width of the page."""
    name: str
    """Of its files."""
    title: str
    caption: str
    notes: tuple[str, ...] = ()
    folded: bool = False
    """Whether the page shows it only on demand."""


@dataclass(frozen=True, eq=False)
class Series:
    """One curve, with its band or the curves of single seeds."""

    label: str
    style: LineStyle
    steps: FloatArray
    values: FloatArray
    low: FloatArray | None = None
    high: FloatArray | None = None
    single: tuple[Curve, ...] = ()


@dataclass(frozen=True, eq=False, kw_only=True)
class CurveFigure(Figure):
    """Curves over training steps or thresholds."""

    y_label: str
    series: tuple[Series, ...]
    limits: tuple[float, float]
    """Lowest and highest value shown."""
    digits: int | None
    """Decimals of values under the pointer; None: as many as three significant ones need."""
    ceiling: tuple[float, str] | None = None
    """A value that means something, and what it is called."""
    bands: bool = True
    """Whether bands and single seeds are drawn."""
    x_label: str = "training steps"
    x_digits: int | None = None
    """Decimals of the horizontal axis; None: it shows steps."""


@dataclass(frozen=True, eq=False, kw_only=True)
class GridFigure(Figure):
    """Many small curve figures under one legend."""

    wide: ClassVar[bool] = True
    legend: tuple[tuple[str, LineStyle], ...]
    panels: tuple[CurveFigure, ...]


@dataclass(frozen=True)
class EstimateRow:
    """One estimate with its interval."""

    label: str
    colour: str
    interval: Interval


@dataclass(frozen=True, eq=False, kw_only=True)
class EstimateFigure(Figure):
    """Estimates below each other, each a dot with its interval."""

    x_label: str
    rows: tuple[EstimateRow, ...]
    limits: tuple[float, float]
    digits: int
    reference: tuple[float, str] | None = None
    """A value to compare with, and what it is called."""


@dataclass(frozen=True)
class Bars:
    """The bars of one method, one per task; None where there is no value."""

    label: str
    colour: str
    values: tuple[float | None, ...]
    faint: bool = False


@dataclass(frozen=True, eq=False, kw_only=True)
class BarFigure(Figure):
    """A bar for every task and method, on a scale that is linear near 0 and logarithmic beyond."""

    x_label: str
    tasks: tuple[str, ...]
    methods: tuple[Bars, ...]
    reference: tuple[float, str]
    """A value to compare with, and what it is called."""

    @property
    def range(self) -> tuple[float, float]:
        """Lowest and highest value, 0 and the reference among them."""
        values = [value for bars in self.methods for value in bars.values if value is not None]
        return min(0.0, *values), max(self.reference[0], *values)


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
    """Coloured cells, painted over the floor."""
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
    colours: str
    """Name of a colour map of Matplotlib's."""
    ticks: tuple[tuple[float, str], ...]
    """Position from 0 to 1, and what it stands for."""


@dataclass(frozen=True, eq=False, kw_only=True)
class PanelFigure(Figure):
    """Pictures of the grid world side by side."""

    wide: ClassVar[bool] = True
    groups: tuple[PanelGroup, ...]
    columns: int
    scale: ColourScale | None = None
    """Of heat maps; None for lines."""
