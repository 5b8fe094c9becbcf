"""The page in a browser: silent, alone, sortable, with values under the pointer, on any width."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from rle.report import report
from tests.report.browser import CHROMIUM, Browser
from tests.report.folders import write_run, write_suite

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed")

WIDTHS = (390, 768, 1280)


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("runs")
    write_suite(
        root,
        {
            "atari/Alien": {"rle": 7000.0, "none": 3000.0, "noisy": 800.0},
            "atari/MontezumaRevenge": {"rle": 10.0, "none": 400.0, "noisy": 0.0},
        },
    )
    for distribution in ("sphere", "normal"):
        write_run(root / distribution, coverage=(0.1, 0.4, 0.5), rle__distribution=distribution)
    return report([root], paper=True)


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with Browser(tmp_path_factory.mktemp("profile")) as started:
        yield started


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_silent_and_alone(page: Path, browser: Browser, width: int, dark: bool) -> None:
    browser.open(page, width, dark=dark)
    assert browser.complaints() == []
    others = [url for url in browser.requests() if not url.startswith("data:")]
    assert others == [page.resolve().as_uri()]
    background = browser.evaluate("getComputedStyle(document.body).backgroundColor")
    assert background == ("rgb(21, 23, 26)" if dark else "rgb(255, 255, 255)")


@pytest.mark.parametrize("width", WIDTHS)
def test_nothing_is_wider_than_the_window(page: Path, browser: Browser, width: int) -> None:
    browser.open(page, width)
    browser.evaluate("document.querySelectorAll('details').forEach((d) => { d.open = true; })")
    assert browser.evaluate("document.documentElement.scrollWidth") <= width
    assert browser.evaluate("window.innerWidth") == width
    # Letters of a drawing shrink with it: none may become too small to read.
    smallest = browser.evaluate(
        "Math.min(...[...document.querySelectorAll('svg.drawing text')].map((text) =>"
        " parseFloat(getComputedStyle(text).fontSize) * text.getScreenCTM().a))"
    )
    assert smallest >= 8.99


def test_colours_of_drawings_follow_light_and_dark(page: Path, browser: Browser) -> None:
    found = {}
    for dark in (False, True):
        browser.open(page, 1280, dark=dark)
        found[dark] = browser.evaluate(
            "getComputedStyle(document.querySelector('svg.drawing text')).fill"
        )
    assert found == {False: "rgb(90, 96, 104)", True: "rgb(162, 168, 176)"}


def test_tables_sort_both_ways(page: Path, browser: Browser) -> None:
    browser.open(page, 1280)

    def column(number: int) -> list[str]:
        rows = "[...document.querySelectorAll('#paper-scores tbody tr')]"
        values: list[str] = browser.evaluate(f"{rows}.map((r) => r.cells[{number}].dataset.sort)")
        return values

    heading = "document.querySelectorAll('#paper-scores thead button')[{}].click()"
    assert column(0)[0] == "Alien"
    browser.evaluate(heading.format(2))
    scores = [float(value) for value in column(2)]
    assert scores == sorted(scores)
    browser.evaluate(heading.format(2))
    assert [float(value) for value in column(2)] == sorted(scores, reverse=True)
    browser.evaluate(heading.format(0))
    assert column(0) == sorted(column(0), key=str.lower)


@pytest.mark.parametrize("width", [390, 1280])
def test_curves_show_their_values_under_the_pointer(
    page: Path, browser: Browser, width: int
) -> None:
    browser.open(page, width)
    boxes = browser.evaluate("document.querySelectorAll('.tooltip').length")
    assert boxes >= 6
    for number in range(boxes):
        box = f"document.querySelectorAll('.tooltip')[{number}].parentElement"
        browser.evaluate(f"{box}.scrollIntoView({{block: 'center', behavior: 'instant'}})")
        frame = browser.evaluate(f"{box}.querySelector('svg').getBoundingClientRect().toJSON()")
        area = browser.evaluate(f"JSON.parse({box}.querySelector('script').textContent)[0]")
        across = 0.2 * area["left"] + 0.8 * area["right"]
        down = (area["top"] + area["bottom"]) / 2
        browser.move(frame["x"] + across * frame["width"], frame["y"] + down * frame["height"])
        tooltip = f"{box}.querySelector('.tooltip')"
        assert browser.evaluate(f"{tooltip}.hidden") is False
        assert browser.evaluate(f"{box}.querySelector('.cursor').hidden") is False
        shown = browser.evaluate(f"{tooltip}.innerText")
        assert "RLE" in shown
        assert any(letter.isdigit() for letter in shown)
        assert browser.evaluate("document.documentElement.scrollWidth") <= width
        browser.move(1, 1)
        assert browser.evaluate(f"{tooltip}.hidden") is True
