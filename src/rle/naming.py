"""Names of folders that any file system takes."""

from __future__ import annotations

import hashlib
import re
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
    mark = hashlib.sha256(text.encode()).hexdigest()[:8]
    return f"{name[: LONGEST - len(mark) - 1]}-{mark}"


def folder_within(parent: Path, text: str) -> str:
    """The name of the folder for `text` in `parent`, or what earlier versions called it if it is there.

    They had names that not every file system takes; what began under one goes on under it.
    """
    name, earlier = folder_name(text), _plain(text)
    return earlier if name != earlier and _is_folder(parent / earlier) else name


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except OSError:  # A name too long for this file system.
        return False


def _plain(text: str) -> str:
    return re.sub(r"[^\w.+=,@-]+", "-", text, flags=re.ASCII).strip("-. ") or "unnamed"
