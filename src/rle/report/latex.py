r"""Tables for papers: LaTeX with booktabs, and with longtable what is taller than a page."""

from __future__ import annotations

from rle.report.tables import Cell, Table

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
