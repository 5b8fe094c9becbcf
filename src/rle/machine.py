"""What this machine has."""

from __future__ import annotations

import os


def cores() -> int:
    """Cores this process may use, where the system tells, or else all there are."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
