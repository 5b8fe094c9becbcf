"""Counts as a table of text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence


def table(head: Sequence[str], rows: Mapping[str, Sequence[object]]) -> str:
    """Rows by their name, numbers to the right."""
    lines = [["", *head], *([name, *map(str, values)] for name, values in rows.items())]
    widths = [max(len(line[column]) for line in lines) for column in range(len(head) + 1)]
    return "\n".join(
        "  ".join(
            text.ljust(width) if column == 0 else text.rjust(width)
            for column, (text, width) in enumerate(zip(line, widths, strict=True))
        )
        for line in lines
    )
