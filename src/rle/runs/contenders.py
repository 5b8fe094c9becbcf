"""What is timed, in a process of its own: here our trainer, in `peer` another library's."""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from typing import Any

from rle.config import RunConfig
from rle.runs.trainer import Trainer
from rle.tasks.normalise import NormalisedTask


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


def peak_memory() -> float:
    """Peak resident memory of this process, in bytes."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else 1024 * peak


class Stopwatch:
    """Adds up the time spent in chosen methods of chosen objects."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    def watch(self, owner: Any, method: str, label: str) -> None:
        """Count the time of every later call of `owner.method` as `label`."""
        function = getattr(owner, method)

        def timed(*args: Any, **kwargs: Any) -> Any:
            started = time.perf_counter()
            try:
                return function(*args, **kwargs)
            finally:
                spent = time.perf_counter() - started
                self.seconds[label] = self.seconds.get(label, 0.0) + spent

        setattr(owner, method, timed)


class OurContender:
    """A trainer, timed by whole iterations."""

    def __init__(self, config: RunConfig, warm_up: int) -> None:
        self._trainer = Trainer(config)
        self._trainer.start()
        for _ in range(warm_up):
            self._trainer.iterate()
        self._watch = Stopwatch()
        trainer = self._trainer
        self._watch.watch(trainer.learner, "update", "learning")
        self._watch.watch(trainer.learner, "_bonus", "bonus")
        if trainer.task.traceable:
            # Acting and stepping may be one compiled program.
            self._watch.watch(trainer, "collect", "acting and environment")
        else:
            task = trainer.task
            engine = task.shown if isinstance(task, NormalisedTask) else task
            self._watch.watch(engine, "step", "environment")
            self._watch.watch(trainer, "_choose", "acting")
            self._watch.watch(trainer.strategy, "after_step", "bonus")

    def run(self, seconds: float) -> Round:
        """Train for at least that long, and for one iteration at least."""
        self._watch.seconds.clear()
        started, first = time.perf_counter(), self._trainer.step
        started_on_cores = time.process_time()
        while self._trainer.step == first or time.perf_counter() - started < seconds:
            self._trainer.iterate()
        spent = time.perf_counter() - started
        shares = dict(self._watch.seconds)
        shares["rest"] = spent - sum(shares.values())
        on_cores = time.process_time() - started_on_cores
        return Round(self._trainer.step - first, spent, shares, peak_memory(), on_cores)


def serve(pipe: Connection, make: Callable[..., Any], config: RunConfig, warm_up: int) -> None:
    """The life of a contender's process: build, then one round for every number of seconds received."""
    try:
        contender = make(config, warm_up)
        pipe.send(None)
        while (seconds := pipe.recv()) is not None:
            pipe.send(contender.run(seconds))
    except Exception as error:
        pipe.send(error)
