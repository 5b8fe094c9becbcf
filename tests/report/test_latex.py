"""Tables in LaTeX."""

from __future__ import annotations

from rle.report.write.tables import Cell, Table, escape, number, to_latex, word


def test_a_table_with_booktabs() -> None:
    table = Table(
        "t",
        "Scores",
        "A & B.",
        (("task", "Task"), ("score", "Score_1")),
        ((word("Q*bert"), number(1234.5, 1)), (word("Pong"), Cell("−21", -21.0, (), strong=True))),
    )
    expected = r"""\begin{table}
  \centering
  \caption{Scores. A \& B.}
  \label{tab:scores}
  \begin{tabular}{lr}
    \toprule
    Task & Score\_1 \\
    \midrule
    Q*bert & 1\,234.5 \\
    Pong & \textbf{$-$21} \\
    \bottomrule
  \end{tabular}
\end{table}
"""
    assert to_latex(table, "scores") == expected


def test_a_table_taller_than_a_page_is_broken_over_pages() -> None:
    def table(rows: int) -> Table:
        return Table("t", "Scores", "All.", (("n", "N"),), ((number(7.0, 0),),) * rows)

    assert to_latex(table(40), "n").startswith(r"\begin{table}")
    lines = to_latex(table(41), "n").splitlines()
    assert lines == [
        r"\begin{longtable}{r}",
        r"  \caption{Scores. All.}",
        r"  \label{tab:n} \\",
        *[r"  \toprule", r"  N \\", r"  \midrule", r"  \endfirsthead"],
        *[r"  \toprule", r"  N \\", r"  \midrule", r"  \endhead"],
        *[r"  \bottomrule", r"  \endfoot"],
        *[r"  7 \\"] * 41,
        r"\end{longtable}",
    ]


def test_special_letters() -> None:
    assert escape("5 % of φ_0 ≥ {1}") == r"5 \% of $\phi$\_0 $\geq$ \{1\}"
