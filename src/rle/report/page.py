"""The page: a template, a style sheet and a script, filled with figures and tables."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import resources
from typing import Any

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup

from rle.report import svg, svg_charts
from rle.report.figures import Figure
from rle.report.style import DASH, steps_text
from rle.report.tables import Table


@dataclass(frozen=True, eq=False)
class Section:
    """All there is to show of one task, of one suite, or of the paper."""

    identity: str
    """Of the section in the page, and the beginning of its files' names."""
    task: str
    """As a user types it; empty where there is no such name."""
    title: str
    description: str
    headline: str
    notes: tuple[str, ...]
    tables: tuple[Table, ...]
    folded_tables: tuple[Table, ...]
    figures: tuple[Figure, ...]


@dataclass(frozen=True, eq=False)
class Page:
    """The whole report."""

    title: str
    intro: str
    facts: tuple[tuple[str, str], ...]
    """What was used to make it: names and values."""
    notes: tuple[str, ...]
    sections: tuple[Section, ...]
    definitions: tuple[tuple[str, str], ...]
    """Names of measures and what they mean."""
    interval: str


def render(page: Page) -> str:
    """The page as one HTML document that needs nothing else."""
    environment = Environment(
        loader=FunctionLoader(_read),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    environment.globals.update(_helpers())
    return environment.get_template("template.html").render(page=page)


def _helpers() -> dict[str, Any]:
    return {
        "style_sheet": Markup(_read("page.css")),
        "script": Markup(_read("page.js")),
        "symbols": svg.symbols(),
        "panel_svg": svg.panel_svg,
        "curve_svg": svg.curve_svg,
        "curve_data": svg.curve_data,
        "whole_frame": svg.WHOLE,
        "small_frame": svg.SMALL,
        "estimates_svg": svg_charts.estimates_svg,
        "bars_svg": svg_charts.bars_svg,
        "scale_gradient": svg.scale_gradient,
        "steps_text": steps_text,
        "dash": DASH,
    }


def _read(name: str) -> str:
    return resources.files("rle.report").joinpath(name).read_text(encoding="utf-8")
