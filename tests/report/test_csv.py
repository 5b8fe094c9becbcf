"""Tables as CSV: numbers stay numbers, and no text is a formula."""

import csv
import io
import json
from pathlib import Path

import pytest

from rle.errors import UsageError
from rle.report import report
from rle.report.write.tables import Cell, Table, count, number, to_csv, word
from rle.runs.train import train_config
from tests.builders import small_config


@pytest.mark.parametrize(
    ("sign", "shown"),
    [*((sign, f"'{sign}") for sign in "=+-@"), ("\t=", "\\t="), ("\r=", "\\r="), ("\n=", "\\n=")],
)
def test_formulas_become_texts(sign: str, shown: str) -> None:
    text = 'HYPERLINK("http://x","y")'
    table = Table("t", "", "", ((f"{sign}key", "K"),), ((word(f"{sign}{text}"),),))
    heading, row = csv.reader(io.StringIO(to_csv(table), newline=""))
    assert heading == [f"{shown}key"]
    assert row == [f"{shown}{text}"]


def test_thin_spaces_stay() -> None:
    table = Table("t", "", "", (("a", "A"),), ((word("2.5\u00a0M \u202f φ"),),))
    assert to_csv(table) == "a\n2.5\u00a0M \u202f φ\n"


def test_numbers_stay_numbers() -> None:
    cells = (
        *(number(-1.5, 2), count(-3), number(float("-inf"), 1), number(None, 1), word("-1e3")),
        Cell("", None, (("", -0.25), ("_low", -1), ("_high", None))),
        word("RLE, d=8"),
    )
    headings = tuple((name, name) for name in "abcdefg")
    rows = list(csv.reader(io.StringIO(to_csv(Table("t", "", "", headings, (cells,))))))
    assert rows[1] == ["-1.5", "-3", "-inf", "", "-1e3", "-0.25", "-1", "", "RLE, d=8"]


def test_names_of_somebody_elses_run_are_harmless(tmp_path: Path) -> None:
    """In CSV, HTML and LaTeX; signs that no page can show are written as Python would."""
    run = train_config(small_config("none", "fourroom"), tmp_path / "runs" / "a", quiet=True)
    hostile = "=cmd|'/c x'!A1<script>\\input{/etc/passwd}\ud800\0"
    config = run.settings()
    config |= {"explore": "=none<b>\\x", "own": {"a": {"strategy": "x:y", "b": hostile}}}
    (run.path / "manifest.json").unlink()
    (run.path / "config.json").write_text(json.dumps(config))
    page = report([tmp_path / "runs"]).read_text()
    assert "<script>\\input" not in page
    assert "=none<b>" not in page
    assert "=none&lt;b&gt;\\x" in page
    for table in (tmp_path / "runs" / "report" / "tables").glob("*.csv"):
        for row in csv.reader(io.StringIO(table.read_text(), newline="")):
            assert not any(cell.startswith("=") for cell in row), table
    for table in (tmp_path / "runs" / "report" / "tables").glob("*.tex"):
        assert "none<b>\\x" not in table.read_text()


def test_links_in_the_folder_are_not_followed(tmp_path: Path) -> None:
    train_config(small_config("none", "fourroom"), tmp_path / "runs" / "a", quiet=True)
    folder = tmp_path / "runs" / "report"
    report([tmp_path / "runs"])
    (tmp_path / "mine").write_text("mine")
    (folder / "report.html").unlink()
    (folder / "report.html").symlink_to(tmp_path / "mine")
    report([tmp_path / "runs"])
    assert (tmp_path / "mine").read_text() == "mine"
    assert not (folder / "report.html").is_symlink()
    folder.rename(tmp_path / "elsewhere")
    folder.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(UsageError, match="report is a symbolic link"):
        report([tmp_path / "runs"])
