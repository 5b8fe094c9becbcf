"""What a page of help looks like in a terminal, and when there are colours."""

from __future__ import annotations

import os
import re
import shutil
import textwrap
from collections.abc import Iterable, Sequence
from typing import NamedTuple, TextIO

WIDEST = 110
"""Longer lines are hard to read, however wide the terminal is."""
NAMES = 27
"""Where the texts begin, on the right of the names."""
_TIED = "\N{NO-BREAK SPACE}"
BOLD, RED, YELLOW, GREEN = "1", "1;31", "1;33", "32"


class Entry(NamedTuple):
    """One thing that may stand on the command line."""

    name: str
    text: str


class Section(NamedTuple):
    """Entries under a heading."""

    title: str
    entries: Sequence[Entry]
    text: str = ""


def styled(text: str, style: str, stream: TextIO) -> str:
    """`text` in a style where `stream` shows any: a terminal, unless NO_COLOR is set."""
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return text if plain or not stream.isatty() else f"\033[{style}m{text}\033[0m"


def page(
    usage: str, description: str, sections: Iterable[Section], stream: TextIO, last: str = ""
) -> str:
    """A page of help, as wide as the terminal."""
    width = min(shutil.get_terminal_size().columns - 1, WIDEST)
    parts = [
        _wrapped(f"usage: {usage}", width, later=" " * 8),
        _wrapped(description, width),
        *(_section(section, width, stream) for section in sections if section.entries),
        _wrapped(last, width),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _section(section: Section, width: int, stream: TextIO) -> str:
    heading = styled(section.title, BOLD, stream)
    if section.text:
        text = _wrapped(f"{section.title}: {section.text}", width, later="  ")
        heading = text.replace(section.title, heading, 1)
    return "\n".join([heading, *(_entry(entry, width, stream) for entry in section.entries)])


def _entry(entry: Entry, width: int, stream: TextIO) -> str:
    text = _wrapped(entry.text, width, " " * NAMES, " " * NAMES)
    name = styled(entry.name, BOLD, stream)
    if not entry.text:
        return f"  {name}"
    if len(entry.name) + 4 > NAMES:
        return f"  {name}\n{text}"
    return f"  {name}{text[2 + len(entry.name) :]}"


def _wrapped(text: str, width: int, first: str = "", later: str = "") -> str:
    """`text` in lines that are not broken at hyphens, nor within a short default."""
    text = re.sub(r"\(default: .{,30}?\)", lambda found: found[0].replace(" ", _TIED), text)
    lines = textwrap.fill(
        text, width, initial_indent=first, subsequent_indent=later, break_on_hyphens=False
    )
    return lines.replace(_TIED, " ")
