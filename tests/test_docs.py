"""Documentation that names code must name code that is there."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
ROOT_PAGES = [ROOT / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md")]
PAGES = [*ROOT_PAGES, *sorted(ROOT.glob("docs/**/*.md"))]
LINK = re.compile(r"\[([^\]]*)\]\(([^)#\s]+)(?:#L(\d+))?\)")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for _, target, _ in LINK.findall(page.read_text()):
        if not target.startswith("http"):
            assert (page.parent / target).exists(), target


def test_ppo_details_link_to_their_line_and_test() -> None:
    page = ROOT / "docs" / "ppo.md"
    rows = [line for line in page.read_text().splitlines() if re.match(r"\| \d+ \|", line)]
    assert len(rows) == 13 + 9
    for row in rows:
        (code, code_file, line), (test, test_file, _) = LINK.findall(row)
        text = (page.parent / code_file).read_text().splitlines()[int(line) - 1]
        assert code.strip("`") in text, row
        assert f"def {test.strip('`')}(" in (page.parent / test_file).read_text(), row


def test_reliability_names_tests_that_are_there() -> None:
    page = (ROOT / "docs" / "reliability.md").read_text()
    faults = page.partition("## Faults")[2].partition("## Elsewhere")[0]
    rows = [line for line in faults.splitlines() if line.startswith("| ")][1:]
    assert len(rows) > 10
    for row in rows:
        ((file, test),) = re.findall(r"`(\S+\.py)::(\w+)`", row)
        path = ROOT / "tests" / file
        assert path.exists(), row
        assert f"def {test}(" in path.read_text(), row
