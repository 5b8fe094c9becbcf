"""Findings on a terminal."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Sequence
from typing import TextIO

from rle.findings.finding import LEVELS, Finding
from rle.terminal import GREEN, RED, WIDEST, YELLOW, styled

_STYLES = {"problem": RED, "notice": YELLOW, "fine": GREEN}


def shown(findings: Sequence[Finding], stream: TextIO) -> str:
    """A line or more for each finding, and how many there are of each kind."""
    width = min(shutil.get_terminal_size().columns - 1, WIDEST)
    subjects = max((len(finding.subject) for finding in findings), default=0)
    parts = [_entry(finding, subjects, width, stream) for finding in findings]
    counts = {level: sum(finding.level == level for finding in findings) for level in LEVELS}
    problems, notices = (
        f"{counts[level]} {level}{'' if counts[level] == 1 else 's'}"
        for level in ("problem", "notice")
    )
    return "\n".join([*parts, "", f"{problems}, {notices}, {counts['fine']} fine", ""])


def _entry(finding: Finding, subjects: int, width: int, stream: TextIO) -> str:
    levels = max(map(len, LEVELS))
    indent = " " * (levels + subjects + 4)
    text = textwrap.fill(
        finding.sentence,
        width,
        initial_indent=indent,
        subsequent_indent=indent,
        break_on_hyphens=False,
        break_long_words=False,
    )
    level = styled(finding.level, _STYLES[finding.level], stream)
    padding = " " * (levels - len(finding.level))
    return f"{level}{padding}  {finding.subject:{subjects}}  {text[len(indent) :]}"
