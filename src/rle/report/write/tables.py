r"""Tables as the page shows them, as CSV, and as LaTeX.

With booktabs, and with longtable what is taller than a page.
"""

from __future__ import annotations

import csv
import io
import math
from dataclasses import dataclass

from rle.report.read.words import DASH, interval_text, number_text, plain_text
from rle.stats import Interval

Raw = float | int | str | None

_ESCAPED = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "\u202f": r"\,",
    "\u00a0": "~",
    "–": "--",
    "−": "$-$",
    "≥": r"$\geq$",
    "×": r"$\times$",
    "τ": r"$\tau$",
    "φ": r"$\phi$",
    "γ": r"$\gamma$",
    "σ": r"$\sigma$",
    "₀": "$_0$",
}
_TABLE = str.maketrans(_ESCAPED)
ROWS_ON_A_PAGE = 40
"""A table that floats cannot be broken: LaTeX would cut it off at the page's end."""


@dataclass(frozen=True)
class Cell:
    """One entry of a table."""

    text: str
    sort: Raw = None
    """What a click on the column sorts by; the text if None."""
    columns: tuple[tuple[str, Raw], ...] = ()
    """The entry in CSV: endings of the column's name, and values."""
    strong: bool = False
    hint: str = ""
    """Said when the pointer rests on it."""


@dataclass(frozen=True)
class Table:
    """Rows of cells under headings."""

    name: str
    title: str
    caption: str
    headings: tuple[tuple[str, str], ...]
    """Key (for CSV) and text of each column."""
    rows: tuple[tuple[Cell, ...], ...]


def word(text: str) -> Cell:
    """A cell of words."""
    return Cell(text, text, (("", text),))


def count(value: int, text: str | None = None) -> Cell:
    """A cell with a whole number."""
    return Cell(number_text(value, 0) if text is None else text, value, (("", value),))


def number(value: float | None, digits: int) -> Cell:
    """A cell with one measured number, or none."""
    if value is not None and not math.isfinite(value):
        return Cell(str(value), None, (("", str(value)),))
    return Cell(number_text(value, digits), value, (("", value),))


def estimate_cell(interval: Interval | None, digits: int, signed: bool = False) -> Cell:
    """A mean with its interval; with `signed` a difference, strong where it excludes zero."""
    if interval is None:
        return Cell(DASH, None, (("", None), ("_low", None), ("_high", None)))
    text = interval_text(interval, digits)
    if signed and interval.point > 0:
        text = f"+{text}"
    strong = False
    if interval.low is not None and interval.high is not None:
        strong = signed and not interval.low <= 0 <= interval.high
    values = (("", interval.point), ("_low", interval.low), ("_high", interval.high))
    return Cell(text, interval.point, values, strong, interval.note)


def to_csv(table: Table) -> str:
    """The table's numbers, unrounded."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    first = table.rows[0]
    writer.writerow(
        _harmless(key + ending)
        for (key, _), cell in zip(table.headings, first, strict=True)
        for ending, _ in cell.columns
    )
    for row in table.rows:
        writer.writerow(_harmless(value) for cell in row for _, value in cell.columns)
    return buffer.getvalue()


def _harmless(value: Raw) -> Raw:
    """`value`, with an apostrophe before a text that a spreadsheet would take for a formula."""
    if not isinstance(value, str):
        return value
    text = plain_text(value)  # some programs skip tabs and line breaks
    if not text.startswith(("=", "+", "-", "@")):
        return text
    try:
        float(text)  # -inf is a number all the same
    except ValueError:
        return f"'{text}"
    return text


def to_latex(table: Table, label: str) -> str:
    """The table as the page shows it, with a caption and a label, broken over pages if it is long."""
    words = [_is_word(table, column) for column in range(len(table.headings))]
    columns = "".join("l" if word else "r" for word in words)
    caption = rf"\caption{{{escape(f'{table.title}. {table.caption}'.strip())}}}"
    caption_and_label = f"{caption}\n  \\label{{tab:{label}}}"
    heading = _row([escape(text) for _, text in table.headings])
    rows = [_row([_cell(cell) for cell in row]) for row in table.rows]
    lines = _long if len(rows) > ROWS_ON_A_PAGE else _floating
    return "\n".join(lines(columns, caption_and_label, heading, rows)) + "\n"


def _floating(columns: str, caption: str, heading: str, rows: list[str]) -> list[str]:
    return [
        r"\begin{table}",
        r"  \centering",
        f"  {caption}",
        rf"  \begin{{tabular}}{{{columns}}}",
        r"    \toprule",
        f"    {heading}",
        r"    \midrule",
        *(f"    {row}" for row in rows),
        r"    \bottomrule",
        r"  \end{tabular}",
        r"\end{table}",
    ]


def _long(columns: str, caption: str, heading: str, rows: list[str]) -> list[str]:
    """Its heading comes again on each page."""
    head = [r"  \toprule", f"  {heading}", r"  \midrule"]
    return [
        rf"\begin{{longtable}}{{{columns}}}",
        rf"  {caption} \\",
        *head,
        r"  \endfirsthead",
        *head,
        r"  \endhead",
        r"  \bottomrule",
        r"  \endfoot",
        *(f"  {row}" for row in rows),
        r"\end{longtable}",
    ]


def _is_word(table: Table, column: int) -> bool:
    return any(isinstance(row[column].sort, str) for row in table.rows)


def _row(cells: list[str]) -> str:
    return " & ".join(cells) + r" \\"


def _cell(cell: Cell) -> str:
    text = escape(cell.text)
    return rf"\textbf{{{text}}}" if cell.strong else text


def escape(text: str) -> str:
    """`text` with LaTeX's special letters written as LaTeX wants them."""
    return text.translate(_TABLE)
