"""The page as one HTML document: the template filled, with every drawing inside it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib import resources
from typing import Any

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup, escape

from rle.report.draw.charts import last_step
from rle.report.draw.render import POINTS_PER_INCH, Area, Drawing
from rle.report.draw.style import THEMED, TITLE
from rle.report.read.records import FloatArray
from rle.report.write.page import Page

SMALLEST_LETTER = 9
"""Pixels: a drawing is not shown smaller than its letters allow. Where that is wider than the window
it scrolls sideways."""
LARGEST_SCALE = 1.6
"""Pixels per point: a drawing of few letters need not fill the page."""
_STYLE_SHEET = re.compile(r"<defs>\s*<style.*?</style>\s*</defs>", re.DOTALL)
_IDENTITY = re.compile(r' id="([^"]*)"')
_REFERENCE = re.compile(r'#([\w-]+)[")]')
_LETTERS = re.compile(r"font-size: ([\d.]+)px|font: (?:\w+ )*([\d.]+)px")


def render(page: Page, drawings: Mapping[str, Drawing]) -> str:
    """The page as one document that needs nothing else; `drawings` by section and figure."""
    environment = Environment(
        loader=FunctionLoader(_read),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    environment.globals |= {
        "style_sheet": Markup(_read("page.css")),
        "script": Markup(_read("page.js")),
        "inline_svg": inline_svg,
        "areas_data": areas_data,
    }
    return environment.get_template("template.html").render(page=page, drawings=drawings)


def _read(name: str) -> str:
    return resources.files("rle.report.write").joinpath("assets", name).read_text(encoding="utf-8")


def inline_svg(drawing: Drawing, title: str) -> Markup:
    """A drawing as a part of the page: without its title, in the page's colours and letters."""
    body = drawing.svg.partition("<svg")[2].partition(">")[2].rpartition("</svg>")[0]
    # It would hold for the whole page, whose own style sheet says the same of drawings.
    body = _STYLE_SHEET.sub("", body).replace("xlink:href", "href").replace("\n ", "\n")
    referred_to = set(_REFERENCE.findall(body))
    # Matplotlib numbers all parts of a figure, so that two figures would share their names.
    body = _IDENTITY.sub(lambda found: found[0] if found[1] in referred_to else "", body)
    for colour, variable in THEMED.items():
        body = body.replace(colour, variable)
    sizes = [float(first or second) for first, second in _LETTERS.findall(body)]
    least = drawing.width * SMALLEST_LETTER / min(sizes, default=SMALLEST_LETTER)
    top = TITLE * POINTS_PER_INCH
    return Markup(
        f'<svg class="drawing" role="img" aria-label="{escape(title)}" '
        f'viewBox="0 {top:g} {drawing.width:g} {drawing.height - top:g}" style="min-width: '
        f'{least:.0f}px; max-width: {LARGEST_SCALE * drawing.width:.0f}px">{body}</svg>'
    )


def areas_data(drawing: Drawing) -> list[dict[str, Any]]:
    """What the page's script needs to show the values under the pointer."""
    hidden = TITLE * POINTS_PER_INCH / drawing.height
    return [
        {
            "left": round(area.left, 4),
            "right": round(area.right, 4),
            "top": round((area.top - hidden) / (1 - hidden), 4),
            "bottom": round((area.bottom - hidden) / (1 - hidden), 4),
        }
        | _curves(area)
        for area in drawing.areas
    ]


def _curves(area: Area) -> dict[str, Any]:
    chart = area.chart
    steps = chart.x_digits is None
    return {
        "longest": last_step(chart),
        "unit": "steps" if steps else chart.x_label,
        "digits": chart.digits,
        "series": [
            {
                "label": series.label,
                "colour": series.style.colour,
                "steps": [int(step) for step in series.steps] if steps else _rounded(series.steps),
                "values": _rounded(series.values),
                "low": None if series.low is None else _rounded(series.low),
                "high": None if series.high is None else _rounded(series.high),
                "single": [_rounded(values) for _, values in series.single],
            }
            for series in chart.series
        ],
    }


def _rounded(values: FloatArray) -> list[float]:
    return [float(f"{value:.4g}") for value in values]
