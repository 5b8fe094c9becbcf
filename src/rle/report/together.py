"""Work that falls into parts, done on all cores."""

from __future__ import annotations

import gc
import multiprocessing
import sys
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import Any, TypeVar

from rle.machine import cores

Item = TypeVar("Item")
Result = TypeVar("Result")

FEWEST = 4
"""Parts for which it is worth starting processes."""

_work: tuple[Callable[[Any], Any], Sequence[Any]] | None = None
"""What the processes are to do: they are copies of this one and find it here."""


def each(function: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
    """`function` of every item, in their order; what it raises is raised.

    On Linux by copies of this process, one per core, so that nothing is imported or read again.
    `function` must not need what it would change here, nor wait for threads: they are not copied.
    """
    global _work
    processes = min(cores(), len(items))
    # In a copy, what it has to do is there already.
    alone = _work is not None or not sys.platform.startswith("linux")
    if alone or processes < 2 or len(items) < FEWEST:
        return [function(item) for item in items]
    _work = function, items
    try:
        with warnings.catch_warnings():
            # NumPy has threads, and a copy of them would be waited for in vain: none is used here.
            warnings.filterwarnings("ignore", ".*multi-threaded.*", DeprecationWarning)
            # It notices if a process is killed, as a multiprocessing.Pool does not.
            context = multiprocessing.get_context("fork")
            # Frozen, what it inherits is never cleared away: an engine would end threads it has not.
            with ProcessPoolExecutor(processes, context, initializer=gc.freeze) as pool:
                return list(pool.map(_part, range(len(items))))
    finally:
        _work = None


def _part(number: int) -> Any:
    assert _work is not None
    function, items = _work
    return function(items[number])
