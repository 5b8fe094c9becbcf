"""The documentation builds without a warning, and its pages lead to what they name."""

import importlib
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("mkdocs", reason="the extra `docs` is not installed")

ROOT = Path(__file__).parent.parent
PACKAGES = ["rle", "rle.core", "rle.explore", "rle.tasks", "rle.agents", "rle.studies", "rle.stats"]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built as `make docs` builds it, where any warning is an error."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    # Material announces a MkDocs that is not ours; nothing else is silenced.
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    built = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert built.returncode == 0, built.stderr
    return folder


@pytest.mark.parametrize("package", PACKAGES)
def test_the_reference_has_every_public_name(package: str, site: Path) -> None:
    page = site / "reference" / f"{package.rpartition('.')[2]}.html"
    # A function may be named like the module it is in, as `rle.report.report`.
    names = rf'id="{re.escape(package)}\.(\w+)(?:\.\1)?"'
    there = set(re.findall(names, page.read_text()))
    # Packages have pages of their own.
    packages = {"core", "explore", "studies", "tasks"} if package == "rle" else set()
    assert set(importlib.import_module(package).__all__) - there == packages


def test_a_link_to_a_line_leads_to_that_line(site: Path) -> None:
    rows = re.findall(r"\]\(\.\./(src/\S+\.py)#L(\d+)\)", (ROOT / "docs" / "ppo.md").read_text())
    links = (site / "ppo.html").read_text()
    for file, line in rows:
        assert f'href="source/{file}.html#__codelineno-0-{line}"' in links
        source = (site / "source" / f"{file}.html").read_text()
        shown = source.split(f'id="__codelineno-0-{line}"')[1].split('id="__codelineno-0-')[0]
        words = re.sub(r"<[^>]*>", "", shown.partition(">")[2])
        first_word = (ROOT / file).read_text().splitlines()[int(line) - 1].split()[0]
        assert words.split()[0].startswith(re.split(r"\W", first_word)[0])


def test_the_first_page_is_the_readme_with_its_picture(site: Path) -> None:
    first = (site / "index.html").read_text()
    pictures = re.findall(r'<img[^>]*src="([^"]+)"', first)
    assert "results/figures/fourroom-visits.png" in pictures
    assert all((site / picture).exists() for picture in pictures)
    assert 'href="source/CITATION.cff.html"' in first


def test_nothing_is_fetched_from_other_hosts(site: Path) -> None:
    for page in site.rglob("*.html"):
        fetched = re.findall(
            r'<(?:script|link|img)[^>]*(?:src|href)="(https?:[^"]+)"', page.read_text()
        )
        assert not fetched, page
