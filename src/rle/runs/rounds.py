"""What a contender of `rle bench` is asked for: rounds of training, in a process of its own."""

from __future__ import annotations

import importlib
import resource
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from typing import Any, Protocol

from rle.config import RunConfig
from rle.machine import keep_to


@dataclass(frozen=True)
class Round:
    """One measurement."""

    steps: int
    seconds: float
    shares: dict[str, float] = field(default_factory=dict)
    """Seconds spent in each part, as far as it can be told."""
    peak_memory: float = 0.0
    """Peak resident memory of the process so far, in bytes."""
    core_seconds: float = 0.0
    """Time spent on the processor, by all threads together."""

    @property
    def rate(self) -> float:
        """Agent steps per second."""
        return self.steps / self.seconds


class Contender(Protocol):
    """A program that trains, warmed up when it is built."""

    def run(self, seconds: float) -> Round:
        """Train for at least that long, and for one iteration at least."""


MakeContender = Callable[[RunConfig, int], Contender]
"""Builds a contender with some settings, and lets it train for so many iterations to warm up."""


def peak_memory() -> float:
    """Peak resident memory of this process, in bytes."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else 1024 * peak


def timed_round(iterate: Callable[[], int], seconds: float) -> Round:
    """Repeat `iterate`, which returns the agent steps it made, for at least that long."""
    made, started, started_on_cores = 0, time.perf_counter(), time.process_time()
    while made == 0 or time.perf_counter() - started < seconds:
        made += iterate()
    spent = time.perf_counter() - started
    on_cores = time.process_time() - started_on_cores
    return Round(made, spent, peak_memory=peak_memory(), core_seconds=on_cores)


def built(path: str, config: RunConfig, warm_up: int) -> Contender:
    """The contender that `module:name` builds; nothing else of a peer is imported in its process."""
    module, _, name = path.partition(":")
    contender: Contender = getattr(importlib.import_module(module), name)(config, warm_up)
    return contender


def serve(pipe: Connection, make: MakeContender, config: RunConfig, warm_up: int) -> None:
    """The life of a contender's process: build, then call the methods whose names are received."""
    try:
        if config.machine.threads:
            # Engines and JAX start threads of their own, whatever PyTorch is told.
            keep_to(config.machine.threads)
        contender = make(config, warm_up)
        pipe.send(None)
        while True:
            method, *arguments = pipe.recv()
            answer: Any = getattr(contender, method)(*arguments)
            pipe.send(answer)
    except EOFError:
        pass
    except Exception as error:
        pipe.send(error)
