"""Names of folders that any file system takes."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from pathlib import Path

LONGEST = 100
"""Signs of a name. Paths of 260 have to do on Windows, and several of these stand in one."""
_DEVICES = re.compile(r"^(con|prn|aux|nul|com[1-9]|lpt[1-9])(?=\.|$)", re.IGNORECASE)
"""What Windows takes for a device, whatever stands after the first dot."""


def folder_name(text: str) -> str:
    """`text` as the name of one folder: signs other than the usual ones become a `-`.

    What is too long is cut, and ends in a few signs that tell it from others that begin like it.
    """
    name = _DEVICES.sub(r"\1_", _plain(text), count=1)
    if len(name) <= LONGEST:
        return name
    mark = hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:8]
    return f"{name[: LONGEST - len(mark) - 1]}-{mark}"


def folder_within(parent: Path, text: str) -> str:
    """The name of the folder for `text` in `parent`, or what earlier versions called it if it is there.

    They had names that not every file system takes; what began under one goes on under it.
    """
    name, earlier = folder_name(text), _plain(text)
    return earlier if name != earlier and is_folder(parent / earlier) else name


def is_folder(path: Path) -> bool:
    """Whether a folder stands at `path`, which need not be a name that the file system takes."""
    return _look(path, Path.is_dir)


def exists(path: Path) -> bool:
    """Whether anything stands there."""
    return _look(path, Path.exists)


def is_file(path: Path) -> bool:
    """The same of a file."""
    return _look(path, Path.is_file)


def _look(path: Path, at: Callable[[Path], bool]) -> bool:
    try:
        return at(path)
    except (OSError, ValueError):  # Too long, or with signs that no name has.
        return False


def _plain(text: str) -> str:
    return re.sub(r"[^\w.+=,@-]+", "-", text, flags=re.ASCII).strip("-. ") or "unnamed"
