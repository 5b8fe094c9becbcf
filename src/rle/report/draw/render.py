"""The renderer: Matplotlib draws each figure once, as SVG for the page and as SVG and PNG files."""

from __future__ import annotations

import io
import re
from dataclasses import dataclass

import matplotlib
import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure as Canvas
from PIL import Image

from rle.report.draw.charts import Charts, draw_bars, draw_curves, draw_estimates, draw_grid
from rle.report.draw.figures import (
    BarFigure,
    CurveFigure,
    EstimateFigure,
    Figure,
    GridFigure,
    PanelFigure,
)
from rle.report.draw.panels import draw_panels
from rle.report.draw.style import RESOLUTION, SETTINGS

POINTS_PER_INCH = 72
_NO_METADATA = dict.fromkeys(("Creator", "Date", "Format", "Type"))
"""The same figure gives the same file."""
_PATH = re.compile(r'(?<= d=")[^"]+')
_DECIMALS = re.compile(r"(\.\d\d)\d+")
"""A hundredth of a point cannot be seen; of long trajectories the rest would be half of the file."""


@dataclass(frozen=True)
class Area:
    """Where in a drawing which curves are shown: shares of its width and height, from the top left."""

    left: float
    right: float
    top: float
    bottom: float
    chart: CurveFigure


@dataclass(frozen=True)
class Drawing:
    """A figure as it is written."""

    width: float
    height: float
    """In points, of which an inch has 72."""
    svg: str
    """A whole document."""
    png: bytes
    areas: tuple[Area, ...]


def draw(figure: Figure, name: str) -> Drawing:
    """Draw a figure; `name` tells its parts from those of other figures in one page."""
    with matplotlib.rc_context(SETTINGS | {"svg.hashsalt": name}):
        canvas, charts = _draw(figure)
        lines_only = isinstance(figure, PanelFigure) and figure.scale is None
        # In this order: writing SVG changes the canvas's resolution.
        png = _png(canvas, few_colours=lines_only)
        svg = _svg(canvas)
    boxes = [(axes.get_position(), chart) for axes, chart in charts]
    areas = tuple(Area(box.x0, box.x1, 1 - box.y1, 1 - box.y0, chart) for box, chart in boxes)
    width, height = POINTS_PER_INCH * canvas.get_size_inches()
    return Drawing(width, height, svg, png, areas)


def _draw(figure: Figure) -> tuple[Canvas, Charts]:
    match figure:
        case CurveFigure():
            return draw_curves(figure)
        case GridFigure():
            return draw_grid(figure)
        case EstimateFigure():
            return draw_estimates(figure), []
        case BarFigure():
            return draw_bars(figure), []
        case PanelFigure():
            return draw_panels(figure), []
    raise TypeError(f"nobody draws a {type(figure).__name__}")


def _svg(canvas: Canvas) -> str:
    buffer = io.StringIO()
    FigureCanvasSVG(canvas).print_svg(buffer, metadata=_NO_METADATA)
    return _PATH.sub(lambda path: shorten(path[0]), buffer.getvalue())


def shorten(path: str) -> str:
    """A path of straight lines in fewer letters; any other with fewer decimals."""
    lines = path.split("\n")
    if any(line[:1] not in ("M", "L", "z", "") for line in lines):
        return _DECIMALS.sub(r"\1", path)
    shorter = []
    x = y = ""
    for line in lines:
        if len(line) < 2:
            shorter.append(line)
            continue
        before = x, y
        kind, x, y = line.split()
        x, y = x[: x.find(".") + 3] if "." in x else x, y[: y.find(".") + 3] if "." in y else y
        if kind == "L" and x == before[0]:
            shorter.append(f"V{y}")
        elif kind == "L" and y == before[1]:
            shorter.append(f"H{x}")
        else:
            shorter.append(f"{kind}{x} {y}")
    return "".join(shorter)


def _png(canvas: Canvas, few_colours: bool) -> bytes:
    agg = FigureCanvasAgg(canvas)
    agg.draw()
    picture = Image.fromarray(np.asarray(agg.buffer_rgba())).convert("RGB")
    if few_colours:
        # A third of the size for lines; the shades of a heat map are all needed. To choose the
        # colours, one dot of nine is enough.
        sample = picture.resize((picture.width // 3, picture.height // 3), Image.Resampling.NEAREST)
        palette = sample.quantize(256, dither=Image.Dither.NONE)
        picture = picture.quantize(palette=palette, dither=Image.Dither.NONE)
    buffer = io.BytesIO()
    picture.save(buffer, format="png", dpi=(RESOLUTION, RESOLUTION), compress_level=3)
    return buffer.getvalue()
