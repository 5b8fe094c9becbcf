"""What this machine has."""

from __future__ import annotations

import ctypes
import os
import sys

SHARE = "RLE_CORES"
"""The environment variable with the number of cores that this process should keep to."""
WAITING = "OMP_WAIT_POLICY"
"""OpenMP's variable that says how its threads wait for each other."""

TRIM_THRESHOLD, MMAP_THRESHOLD = -1, -3
"""What `mallopt` calls them (malloc.h)."""
KEPT_BYTES = 2**30
"""Pieces of memory up to this size are kept for the next one that asks."""


def cores() -> int:
    """Cores this process may use: its share, or what the system grants it, or else all there are."""
    share = os.environ.get(SHARE, "")
    if share.isdigit() and int(share) > 0:
        return int(share)
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def keep_to(number: int) -> None:
    """Let this process run on so many cores and no others, where the system can do that."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:number])


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


def keep_memory() -> bool:
    """Let this process keep the memory that its tensors no longer need; returns whether it will.

    They come and go in every gradient step. By default, glibc gives large pieces back to the system at
    once, which then has to find, clear and map every page of them anew: with thousands of environments a
    third of the time. A process grows no larger than it was at its largest.
    """
    if not sys.platform.startswith("linux"):
        return False
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is None:
        # Not every C library has it.
        return False
    return all(bool(mallopt(name, KEPT_BYTES)) for name in (MMAP_THRESHOLD, TRIM_THRESHOLD))
