"""Our trainer as a contender of `rle bench`; in `peers` there are those of others."""

from __future__ import annotations

import dataclasses
import time
from typing import Any

from rle.config import RunConfig
from rle.runs.limits import Limits, limits_of
from rle.runs.rounds import Round, timed_round
from rle.runs.trainer import Trainer
from rle.tasks.normalise import NormalisedTask


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

    def _iterate(self) -> int:
        before = self._trainer.step
        self._trainer.iterate()
        return self._trainer.step - before

    def run(self, seconds: float) -> Round:
        """Train for at least that long, and for one iteration at least."""
        self._watch.seconds.clear()
        measured = timed_round(self._iterate, seconds)
        shares = dict(self._watch.seconds)
        shares["rest"] = measured.seconds - sum(shares.values())
        return dataclasses.replace(measured, shares=shares)

    def limits(self, seconds: float) -> Limits:
        """What its parts would take at the least; it cannot go on training afterwards."""
        return limits_of(self._trainer, seconds)
