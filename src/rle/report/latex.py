r"""Tables for papers: LaTeX with booktabs (`\usepackage{booktabs}`)."""

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


def to_latex(table: Table, label: str) -> str:
    """The table as the page shows it: a `table` with a caption and a label."""
    words = [_is_word(table, column) for column in range(len(table.headings))]
    lines = [
        r"\begin{table}",
        r"  \centering",
        rf"  \caption{{{escape(f'{table.title}. {table.caption}'.strip())}}}",
        rf"  \label{{tab:{label}}}",
        rf"  \begin{{tabular}}{{{''.join('l' if word else 'r' for word in words)}}}",
        r"    \toprule",
        f"    {_row([escape(text) for _, text in table.headings])}",
        r"    \midrule",
        *(f"    {_row([_cell(cell) for cell in row])}" for row in table.rows),
        r"    \bottomrule",
        r"  \end{tabular}",
        r"\end{table}",
    ]
    return "\n".join(lines) + "\n"


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
