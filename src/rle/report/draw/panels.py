"""Pictures of the grid world, drawn side by side on one pair of axes."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator
from functools import cache
from itertools import groupby
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.figure import Figure as Canvas
from matplotlib.font_manager import FontProperties
from matplotlib.patches import Rectangle
from matplotlib.textpath import TextPath
from matplotlib.transforms import Affine2D

from rle.report.draw.figures import ColourScale, Panel, PanelFigure, PanelGroup, Path
from rle.report.draw.style import (
    FLOOR,
    HALO,
    HEAT_WALL,
    MARK,
    QUIET,
    TITLE,
    UNVISITED,
    WALL,
    add_axes,
    new_sheet,
)
from rle.report.read.records import FloatArray
from rle.tasks import fourroom_plan

# In inches: a panel's side, the distance between two, a line of text, what stands above a group, a
# colour scale, and the least width of a figure.
_PANEL, _GAP, _LINE, _HEADING, _SCALE, _NARROWEST = 2.2, 0.14, 0.15, 0.3, 0.62, 3.0
_CELL = _PANEL / fourroom_plan.SIZE
_TITLE_WIDTH = 40
"""Letters that fit over a panel."""

Box = tuple[float, float, float, float]
"""Row and column of the top left cell, rows and columns."""


def draw_panels(figure: PanelFigure) -> Canvas:
    """Panels under their headings, and the colour scale they share."""
    head = _LINE * max(len(_words(p)) for group in figure.groups for p in group.panels) + 0.06
    heights = [_group_height(group, figure.columns, head) for group in figure.groups]
    width = max(figure.columns * (_PANEL + _GAP) + _GAP, _NARROWEST)
    height = TITLE + sum(heights) + (_SCALE if figure.scale else 0.0) + 0.06
    canvas = new_sheet(width, height, figure.title)
    axes = add_axes(canvas, 0, 0, width, height)
    axes.set_axis_off()
    first = (width - figure.columns * (_PANEL + _GAP) + _GAP) / 2
    placed: list[tuple[float, float, Panel]] = []
    top = TITLE
    for group, group_height in zip(figure.groups, heights, strict=True):
        if group.title:
            axes.text(first, top + 0.2, group.title, fontsize=9.5)
        for number, panel in enumerate(group.panels):
            row, column = divmod(number, figure.columns)
            below = top + row * (head + _PANEL + _GAP) + (_HEADING if group.title else 0.0) + head
            placed.append((first + column * (_PANEL + _GAP), below, panel))
        top += group_height
    heat = figure.scale is not None
    _draw_ground(axes, placed, (UNVISITED, HEAT_WALL) if heat else (FLOOR, WALL))
    _draw_paths(axes, placed)
    for left, below, panel in placed:
        _draw_panel(axes, left, below, panel)
    _draw_marks(axes, "S", 60, [(left + _PANEL - 0.09, top + 0.1) for left, top, _ in placed])
    goals = [(left + 0.1, top + _PANEL - 0.1) for left, top, panel in placed if panel.goal]
    _draw_marks(axes, "*", 130, goals)
    if figure.scale is not None:
        long = min(width - 0.8, 4.5)
        _draw_scale(axes, (width - long) / 2, top + 0.1, long, figure.scale)
    # Pictures have changed the limits: the axes are the sheet again, in inches.
    axes.set(xlim=(0, width), ylim=(height, 0))
    return canvas


def _words(panel: Panel) -> list[tuple[str, str]]:
    """The lines over a panel, each with its weight."""
    # Bold letters are wider.
    title = textwrap.wrap(panel.title, _TITLE_WIDTH - 6)
    detail = textwrap.wrap(panel.detail, _TITLE_WIDTH)
    return [(line, "bold") for line in title] + [(line, "normal") for line in detail]


def _group_height(group: PanelGroup, columns: int, head: float) -> float:
    rows = math.ceil(len(group.panels) / columns)
    return rows * (head + _PANEL + _GAP) + (_HEADING if group.title else 0.0)


def _draw_ground(
    axes: Axes, placed: list[tuple[float, float, Panel]], colours: tuple[str, str]
) -> None:
    """Floors below all pictures, walls above them."""
    everything: Box = (0, 0, fourroom_plan.SIZE, fourroom_plan.SIZE)
    corners = [(left, top) for left, top, _ in placed]
    floors = [_rectangle(left, top, everything) for left, top in corners]
    walls = [_rectangle(left, top, box) for left, top in corners for box in wall_boxes()]
    floor, wall = colours
    axes.add_collection(PolyCollection(floors, facecolors=floor, edgecolors="none", zorder=0))
    axes.add_collection(PolyCollection(walls, facecolors=wall, edgecolors="none", zorder=2))
    axes.add_collection(
        PolyCollection(floors, facecolors="none", edgecolors=wall, linewidths=0.8, zorder=2)
    )


def _rectangle(left: float, top: float, box: Box) -> list[tuple[float, float]]:
    row, column, rows, columns = box
    xs = left + _CELL * column, left + _CELL * (column + columns)
    ys = top + _CELL * row, top + _CELL * (row + rows)
    return [(xs[0], ys[0]), (xs[1], ys[0]), (xs[1], ys[1]), (xs[0], ys[1])]


@cache
def wall_boxes() -> tuple[Box, ...]:
    """The walls as rectangles: stretches of the row, and of the column, that they stand in."""
    wall = ~fourroom_plan.free_cells()
    across = [
        (fourroom_plan.WALL, start, 1, number) for start, number in _runs(wall[fourroom_plan.WALL])
    ]
    wall[fourroom_plan.WALL] = False
    down = [
        (start, fourroom_plan.WALL, number, 1)
        for start, number in _runs(wall[:, fourroom_plan.WALL])
    ]
    return (*across, *down)


def _runs(there: Any) -> Iterator[tuple[int, int]]:
    """Start and length of every stretch of cells that are there."""
    for is_there, members in groupby(enumerate(there), key=lambda pair: bool(pair[1])):
        places = [place for place, _ in members]
        if is_there:
            yield places[0], len(places)


def _draw_paths(axes: Axes, placed: list[tuple[float, float, Panel]]) -> None:
    lines = [
        ((left, top) + _CELL * (corners(path) + 0.5), path.colour)
        for left, top, panel in placed
        for path in panel.paths
    ]
    if not lines:
        return
    colours = [colour for _, colour in lines]
    axes.add_collection(
        LineCollection(
            [points for points, _ in lines],
            colors=colours,
            linewidths=1.1,
            joinstyle="round",
            capstyle="round",
            zorder=3,
        )
    )
    ends = np.array([points[-1] for points, _ in lines])
    axes.scatter(ends[:, 0], ends[:, 1], s=14, c=colours, linewidths=0, zorder=4)


def corners(path: Path) -> FloatArray:
    """Columns and rows `[points, 2]` of a path's ends and of where it turns: a page holds many."""
    points = np.stack([path.columns, path.rows], axis=1)
    moved = np.rint(np.diff(points, axis=0)).astype(int)
    points = points[np.append(True, moved.any(axis=1))]
    moved = moved[moved.any(axis=1)]
    turns = (moved[1:] != moved[:-1]).any(axis=1)
    kept: FloatArray = points[[True, *turns, True]] if len(moved) else points
    return kept


def _draw_panel(axes: Axes, left: float, top: float, panel: Panel) -> None:
    for number, (line, weight) in enumerate(reversed(_words(panel))):
        axes.text(left, top - 0.06 - _LINE * number, line, fontsize=8, fontweight=weight)
    if panel.pixels is not None:
        extent = (left, left + _PANEL, top + _PANEL, top)
        axes.imshow(panel.pixels, interpolation="none", extent=extent, aspect="auto", zorder=1)
    if panel.television is not None:
        row, column = panel.television
        side = _CELL * (fourroom_plan.TELEVISION_SIZE + 1)
        corner = (left + _CELL * (column - 0.5), top + _CELL * (row - 0.5))
        axes.add_patch(
            Rectangle(corner, side, side, fill=False, edgecolor=MARK, linewidth=1.2, zorder=5)
        )
    if panel.missing:
        middle = _PANEL / 4
        axes.text(left + middle, top + middle, panel.missing, ha="center", va="center", color=QUIET)


def _draw_marks(axes: Axes, letter: str, size: float, places: list[tuple[float, float]]) -> None:
    """A letter at every place, set apart by a halo; as shapes, which take less time than text."""
    if not places:
        return
    xs, ys = zip(*places, strict=True)
    shape = TextPath((0, 0), letter, prop=FontProperties(weight="bold"))
    box = shape.get_extents()
    centred = shape.transformed(
        Affine2D().translate(-(box.x0 + box.x1) / 2, -(box.y0 + box.y1) / 2)
    )
    for colour, edge in ((HALO, 2.0), (MARK, 0.0)):
        axes.scatter(
            xs,
            ys,
            size,
            marker=centred,
            facecolor=colour,
            edgecolor=colour,
            linewidth=edge,
            zorder=5,
        )


def _draw_scale(axes: Axes, left: float, top: float, long: float, scale: ColourScale) -> None:
    ramp = matplotlib.colormaps[scale.colours](np.linspace(0, 1, 128), bytes=True)[None]
    extent = (left, left + long, top + 0.14, top)
    axes.imshow(ramp, interpolation="none", extent=extent, aspect="auto")
    for at, text in scale.ticks:
        axes.text(left + at * long, top + 0.29, text, ha="center", fontsize=8, color=QUIET)
    axes.text(left + long / 2, top + 0.46, scale.label, ha="center", fontsize=8.5)
