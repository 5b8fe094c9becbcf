"""Figures as files: SVG and PNG, drawn by matplotlib for paper."""

from __future__ import annotations

import math
import textwrap
from pathlib import Path as FilePath
from typing import Any

import matplotlib
import numpy as np
from matplotlib.figure import Figure as Canvas
from matplotlib.patches import Rectangle
from matplotlib.patheffects import withStroke
from PIL import Image

from rle.report.curve_plots import draw_curves, draw_grid
from rle.report.estimate_plots import draw_bars, draw_estimates
from rle.report.figures import (
    BarFigure,
    ColourScale,
    CurveFigure,
    EstimateFigure,
    Figure,
    GridFigure,
    Panel,
    PanelFigure,
)
from rle.tasks import fourroom

FLOOR = "#FFFFFF"
UNVISITED = "#E9E9EC"
WALL = "#4A4A4F"
MARK = "#D00000"
"""The red of the paper's S and *."""
RESOLUTION = 160

# In inches: a panel's side, the distance between two, a line of text, a colour scale, and the least
# width of a figure.
_PANEL, _GAP, _LINE, _SCALE, _NARROWEST = 2.2, 0.14, 0.27, 0.68, 3.6
_TITLE_WIDTH = 34
"""Letters that fit over a panel."""
_SETTINGS: dict[Any, Any] = {
    "font.size": 9.0,
    "axes.titlesize": 8.5,
    "svg.hashsalt": "rle",  # the same figure gives the same file
    "svg.fonttype": "path",
}


def save_figure(figure: Figure, folder: FilePath, name: str) -> None:
    """Write `name`.svg and `name`.png into `folder`."""
    with matplotlib.rc_context(_SETTINGS):
        match figure:
            case PanelFigure():
                canvas = _draw_panels(figure)
            case CurveFigure():
                canvas = draw_curves(figure)
            case GridFigure():
                canvas = draw_grid(figure)
            case EstimateFigure():
                canvas = draw_estimates(figure)
            case BarFigure():
                canvas = draw_bars(figure)
        canvas.savefig(folder / f"{name}.svg", metadata={"Date": None})
        canvas.savefig(folder / f"{name}.png", dpi=RESOLUTION)
        if isinstance(figure, PanelFigure) and figure.scale is None:
            _reduce_colours(folder / f"{name}.png")


def _reduce_colours(picture: FilePath) -> None:
    """A third of the size for lines, which have few colours; those of a heat map are all needed."""
    with Image.open(picture) as whole:
        whole.convert("RGB").quantize(256, dither=Image.Dither.NONE).save(picture, optimize=True)


class _Sheet:
    """A drawing filled from the top down, measured in inches.

    Every panel has the same size, so that no layout need be computed: matplotlib's own takes
    longer than the drawing.
    """

    def __init__(self, width: float, height: float) -> None:
        self.canvas = Canvas(figsize=(width, height))
        self.width, self.height = width, height
        self.used = 0.0

    def axes(self, left: float, top: float, width: float, height: float) -> Any:
        """Axes whose top left corner lies at `left` and `top` below what was used."""
        bottom = self.height - self.used - top - height
        return self.canvas.add_axes(
            (left / self.width, bottom / self.height, width / self.width, height / self.height)
        )

    def line(self, text: str, **style: Any) -> None:
        """A line of text in the middle."""
        self.used += _LINE
        self.canvas.text(
            0.5, 1 - (self.used - 0.07) / self.height, text, ha="center", va="baseline", **style
        )


def _draw_panels(figure: PanelFigure) -> Canvas:
    titles = {id(panel): _title(panel) for group in figure.groups for panel in group.panels}
    lines = max(title.count("\n") + 1 for title in titles.values())
    row_height = lines * 0.15 + 0.08 + _PANEL + _GAP
    rows = [math.ceil(len(group.panels) / figure.columns) for group in figure.groups]
    height = (
        2 * _LINE
        + sum(rows) * row_height
        + sum(_LINE for group in figure.groups if group.title)
        + (_SCALE if figure.scale else 0.0)
    )
    width = max(figure.columns * (_PANEL + _GAP) + _GAP, _NARROWEST)
    left = (width - figure.columns * (_PANEL + _GAP) + _GAP) / 2
    sheet = _Sheet(width, height)
    sheet.line(figure.title, fontsize=11)
    for group, group_rows in zip(figure.groups, rows, strict=True):
        if group.title:
            sheet.line(group.title, fontsize=9, fontweight="bold")
        for number, panel in enumerate(group.panels):
            row, column = divmod(number, figure.columns)
            top = row * row_height + lines * 0.15 + 0.08
            axes = sheet.axes(left + column * (_PANEL + _GAP), top, _PANEL, _PANEL)
            _draw_panel(axes, panel, UNVISITED if figure.unvisited else FLOOR)
            axes.set_title(titles[id(panel)], fontsize=8, pad=4)
        sheet.used += group_rows * row_height
    if figure.scale is not None:
        long = min(width - 1.0, 4.5)
        _draw_scale(sheet.axes((width - long) / 2, 0.12, long, 0.15), figure.scale)
    return sheet.canvas


def _title(panel: Panel) -> str:
    wrapped = textwrap.fill(panel.title, _TITLE_WIDTH)
    return "\n".join(filter(None, [wrapped, panel.detail]))


def _draw_panel(axes: Any, panel: Panel, floor: str) -> None:
    size = fourroom.SIZE
    free = fourroom.free_cells().numpy()
    picture = np.where(free[..., None], _rgb(floor), _rgb(WALL)).astype(np.uint8)
    if panel.pixels is not None:
        opaque = panel.pixels[..., 3:] > 0
        picture = np.where(opaque, panel.pixels[..., :3], picture)
    axes.imshow(picture, interpolation="nearest", extent=(-0.5, size - 0.5, size - 0.5, -0.5))
    for path in panel.paths:
        axes.plot(
            path.columns, path.rows, color=path.colour, linewidth=1.1, solid_joinstyle="round"
        )
        axes.plot(path.columns[-1:], path.rows[-1:], "o", color=path.colour, markersize=4, zorder=4)
    halo = [withStroke(linewidth=2.0, foreground="white")]
    mark = {"color": MARK, "weight": "bold", "path_effects": halo, "zorder": 5}
    row, column = fourroom.START
    axes.text(column + 0.2, row, "S", ha="right", va="top", fontsize=9, **mark)
    if panel.goal:
        row, column = fourroom.GOAL
        axes.text(column, row + 2.2, "*", ha="left", va="bottom", fontsize=14, **mark)
    if panel.television is not None:
        row, column = panel.television
        side = fourroom.TELEVISION_SIZE + 1
        outline = Rectangle(
            (column - 1, row - 1), side, side, fill=False, edgecolor=MARK, linewidth=1.2
        )
        axes.add_patch(outline)
    if panel.missing:
        middle = (size - 1) / 4
        axes.text(middle, middle, panel.missing, ha="center", va="center", color="#666666", size=8)
    axes.set_xticks([])
    axes.set_yticks([])


def _draw_scale(axes: Any, scale: ColourScale) -> None:
    ramp = np.array([_rgb(colour) for colour in scale.colours], dtype=np.uint8)[None]
    axes.imshow(ramp, aspect="auto", extent=(0, 1, 0, 1), interpolation="bilinear")
    axes.set_yticks([])
    axes.set_xticks([at for at, _ in scale.ticks], [text for _, text in scale.ticks], fontsize=8)
    axes.set_xlabel(scale.label, fontsize=8.5)


def _rgb(colour: str) -> list[int]:
    return [int(colour[start : start + 2], 16) for start in (1, 3, 5)]
