"""What this machine has."""

from __future__ import annotations

import os

SHARE = "RLE_CORES"
"""The environment variable with the number of cores that this process should keep to."""
WAITING = "OMP_WAIT_POLICY"
"""OpenMP's variable that says how its threads wait for each other."""


def cores() -> int:
    """Cores this process may use: its share, or what the system grants it, or else all there are."""
    share = os.environ.get(SHARE, "")
    if share.isdigit() and int(share) > 0:
        return int(share)
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def wait_asleep() -> None:
    """Let the threads of this process sleep while they wait, unless the user has said how they are to.

    OpenMP reads this once, when PyTorch is imported. Without it, a thread that waits at a barrier keeps
    its core busy, and the one it waits for may be waiting for that core: beside any other busy process,
    two threads are then many times slower than one.
    """
    os.environ.setdefault(WAITING, "passive")


def memory_bytes() -> int:
    """The memory of this machine, used or not."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
