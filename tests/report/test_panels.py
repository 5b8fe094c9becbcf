"""Panels as they are drawn: lines in the page, and the colours of files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from PIL import Image

from rle.report.figures import ColourScale, Panel, PanelFigure, PanelGroup
from rle.report.figures import Path as Line
from rle.report.plots import save_figure
from rle.report.style import BLUE, GREEN, ORANGE, PURPLE, VERMILLION
from rle.report.svg import panel_svg


def test_a_line_in_the_page_goes_from_cell_to_cell() -> None:
    # Down twice, left three times with a rest in between, then into and across a corner.
    rows = np.array([0, 1, 2, 2, 2, 2, 2, 3]) + 0.14
    columns = np.array([50, 50, 50, 49, 49, 48, 47, 46]) + 0.14
    text = panel_svg(Panel("", paths=(Line(rows, columns, "#123456"),)), unvisited=False)
    assert 'd="M50.64 0.64v2h-1h-2l-1 1" stroke="#123456"' in text
    assert 'cx="46.64" cy="3.64"' in text


def test_files_of_lines_keep_their_colours(tmp_path: Path) -> None:
    colours = (BLUE, ORANGE, GREEN, PURPLE, VERMILLION)
    lines = tuple(
        Line(np.arange(51.0), np.full(51, 5.0 * number), colour)
        for number, colour in enumerate(colours, start=1)
    )
    group = PanelGroup("", (Panel("", paths=lines),))
    save_figure(PanelFigure("lines", "", "", (group,), 1), tmp_path, "lines")
    with Image.open(tmp_path / "lines.png") as picture:
        assert picture.mode == "P"
        pixels = np.asarray(picture.convert("RGB")).reshape(-1, 3).astype(int)
    for colour in (*colours, "#FFFFFF"):
        wanted = [int(colour[start : start + 2], 16) for start in (1, 3, 5)]
        assert np.abs(pixels - wanted).max(axis=1).min() <= 2, colour


def test_files_of_heat_maps_keep_every_colour(tmp_path: Path) -> None:
    # 51 x 51 = 2601 different shades: too many for the 256 of a reduced file.
    shades = np.stack([*np.divmod(np.arange(51 * 51), 51)], axis=-1) * 5
    pixels = np.dstack(
        [shades.reshape(51, 51, 2), np.zeros((51, 51)), np.full((51, 51), 255)]
    ).astype(np.uint8)
    group = PanelGroup("", (Panel("", pixels=pixels),))
    scale = ColourScale("", ("#000000", "#ffff00"), ())
    save_figure(PanelFigure("heat", "", "", (group,), 1, scale), tmp_path, "heat")
    with Image.open(tmp_path / "heat.png") as picture:
        drawn = np.asarray(picture.convert("RGB")).reshape(-1, 3)
    assert len(np.unique(drawn, axis=0)) > 2000
