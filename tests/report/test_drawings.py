"""Figures as they are drawn: lines and walls of the grid, the colours of files, parts of the page."""

from __future__ import annotations

import io
import re
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from rle.report.draw.figures import ColourScale, CurveFigure, Panel, PanelFigure, PanelGroup, Series
from rle.report.draw.figures import Path as Line
from rle.report.draw.panels import corners, wall_boxes
from rle.report.draw.render import draw, shorten
from rle.report.draw.style import BLUE, GREEN, ORANGE, PURPLE, THEMED, VERMILLION, LineStyle
from rle.report.write.html import areas_data, inline_svg
from rle.tasks import fourroom


def panel_figure(panel: Panel, scale: ColourScale | None = None) -> PanelFigure:
    group = PanelGroup("", (panel,))
    return PanelFigure(
        name="panels", title="Panels", caption="", groups=(group,), columns=1, scale=scale
    )


def curve_figure() -> CurveFigure:
    steps = np.array([0.0, 500.0, 1000.0])
    series = Series("RLE", LineStyle(VERMILLION), steps, np.array([0.0, 0.5, 1.0]))
    return CurveFigure(
        name="curve",
        title="A title",
        caption="",
        y_label="share",
        series=(series,),
        limits=(0.0, 1.0),
        digits=2,
    )


def colours_of(png: bytes) -> np.ndarray:
    with Image.open(io.BytesIO(png)) as picture:
        return np.asarray(picture.convert("RGB")).reshape(-1, 3).astype(int)


def test_a_line_is_drawn_by_its_corners() -> None:
    # Down twice, left three times with a rest in between, then into and across a corner.
    rows = np.array([0, 1, 2, 2, 2, 2, 2, 3]) + 0.14
    columns = np.array([50, 50, 50, 49, 49, 48, 47, 46]) + 0.14
    found = corners(Line(rows, columns, "#123456")) - 0.14
    assert found == pytest.approx(np.array([[50, 0], [50, 2], [47, 2], [46, 3]]))
    resting = corners(Line(np.zeros(3), np.ones(3), "#123456"))
    assert resting.tolist() == [[1, 0]]


def test_walls_are_all_cells_but_the_free_ones() -> None:
    covered = np.zeros((fourroom.SIZE, fourroom.SIZE), dtype=int)
    for row, column, rows, columns in wall_boxes():
        covered[row : row + rows, column : column + columns] += 1
    assert (covered == ~fourroom.free_cells().numpy()).all()


def test_paths_lose_letters_and_no_points() -> None:
    path = "M 1.23456 2 \nL 1.23456 5.5 \nL 3 5.5 \nL 4 6 \nz\n"
    assert shorten(path) == "M1.23 2V5.5H3L4 6z"
    curve = "M 0 -2.123 \nC 0.5 -2 1 -1 1 0 \nz\n"
    assert shorten(curve) == "M 0 -2.12 \nC 0.5 -2 1 -1 1 0 \nz\n"


def test_files_of_lines_keep_their_colours() -> None:
    colours = (BLUE, ORANGE, GREEN, PURPLE, VERMILLION)
    lines = tuple(
        Line(np.arange(51.0), np.full(51, 5.0 * number), colour)
        for number, colour in enumerate(colours, start=1)
    )
    png = draw(panel_figure(Panel("", paths=lines)), "lines").png
    with Image.open(io.BytesIO(png)) as picture:
        assert picture.mode == "P"
    pixels = colours_of(png)
    for colour in (*colours, "#FFFFFF"):
        wanted = [int(colour[start : start + 2], 16) for start in (1, 3, 5)]
        assert np.abs(pixels - wanted).max(axis=1).min() <= 2, colour


def test_files_of_heat_maps_keep_every_colour() -> None:
    # 51 x 51 = 2601 different shades: too many for the 256 of a reduced file.
    shades = np.stack([*np.divmod(np.arange(51 * 51), 51)], axis=-1) * 5
    pixels = np.dstack(
        [shades.reshape(51, 51, 2), np.zeros((51, 51)), np.full((51, 51), 255)]
    ).astype(np.uint8)
    drawn = draw(panel_figure(Panel("", pixels=pixels), ColourScale("", "viridis", ())), "heat")
    assert len(np.unique(colours_of(drawn.png), axis=0)) > 2000
    # In the SVG each cell is one pixel, whatever its size on paper.
    assert 'width="51" height="51"' in drawn.svg


def test_row_0_is_on_top_and_the_start_on_the_right() -> None:
    pixels = np.zeros((51, 51, 4), dtype=np.uint8)
    pixels[0, :25] = (0, 0, 255, 255)
    png = draw(panel_figure(Panel("", pixels=pixels), ColourScale("", "viridis", ())), "heat").png
    with Image.open(io.BytesIO(png)) as picture:
        shown = np.asarray(picture.convert("RGB")).astype(int)
    blue = np.argwhere(np.abs(shown - (0, 0, 255)).max(axis=-1) <= 2)
    red = np.argwhere(np.abs(shown - (0xD0, 0, 0)).max(axis=-1) <= 2)
    assert blue[:, 1].max() < red[:, 1].min()
    assert blue[:, 0].min() <= red[:, 0].min()


def test_a_drawing_in_the_page_has_its_colours_and_no_other_names() -> None:
    drawing = draw(curve_figure(), "first")
    page = inline_svg(drawing, 'A "title"')
    assert 'aria-label="A &#34;title&#34;"' in page
    for colour, variable in THEMED.items():
        assert colour not in page
        if colour in drawing.svg:
            assert variable in page
    assert VERMILLION.lower() in page
    names = re.findall(r' id="([^"]*)"', page)
    assert len(set(names)) == len(names)
    assert all(f"#{name}" in page for name in names)
    others = re.findall(r' id="([^"]*)"', inline_svg(draw(curve_figure(), "second"), ""))
    assert names
    assert not set(names) & set(others)
    assert "<style" not in page
    assert "http" not in page


@pytest.mark.parametrize("bands", [True, False])
def test_seeds_and_bands_are_drawn_unless_they_would_hide_the_curves(bands: bool) -> None:
    [line] = curve_figure().series
    single = ((line.steps, line.values / 2), (line.steps[:2], line.values[:2]))
    seeds = replace(line, single=single)
    band = replace(line, style=LineStyle(BLUE), low=line.values - 0.1, high=line.values + 0.1)
    svg = draw(replace(curve_figure(), series=(seeds, band), bands=bands), "seeds").svg

    def count(what: str, colour: str) -> int:
        return svg.count(f"{what}: {colour.lower()}")

    # Each method has a line and its entry in the legend.
    assert count("stroke", VERMILLION) == (4 if bands else 2)
    assert count("stroke", BLUE) == 2
    assert count("fill", BLUE) == (1 if bands else 0)


def test_the_same_figure_gives_the_same_file() -> None:
    first, second = (draw(curve_figure(), "name") for _ in range(2))
    assert (first.svg, first.png) == (second.svg, second.png)


def test_the_page_knows_where_a_curve_is_shown() -> None:
    drawing = draw(curve_figure(), "first")
    view = re.search(r'viewBox="0 ([\d.]+) ([\d.]+) ([\d.]+)"', inline_svg(drawing, ""))
    assert view is not None
    top, width, height = map(float, view.groups())
    [area] = areas_data(drawing)
    # The curve itself, from its beginning at the bottom left to its end at the top right.
    [path] = re.findall(rf'd="([^"]*)"[^>]*stroke: {VERMILLION.lower()}', drawing.svg)[:1]
    points = [tuple(map(float, point.split())) for point in re.findall(r"[\d.]+ [\d.]+", path)]
    (x0, y0), (x1, y1) = points[0], points[-1]
    assert area["left"] * width == pytest.approx(x0, abs=0.1)
    assert area["right"] * width == pytest.approx(x1, abs=0.1)
    room = 0.02 * height
    assert y1 - top - area["top"] * height == pytest.approx(0, abs=room)
    assert area["bottom"] * height - (y0 - top) == pytest.approx(0, abs=room)
    assert area["longest"] == 1000
