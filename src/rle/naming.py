"""Names of folders that any file system takes."""

from __future__ import annotations

import re


def folder_name(text: str) -> str:
    """`text` as the name of one folder: signs other than the usual ones become a `-`."""
    return re.sub(r"[^\w.+=,@-]+", "-", text, flags=re.ASCII).strip("-. ") or "unnamed"
