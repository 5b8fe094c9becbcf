"""What is said of environments that keep a run waiting: for an answer, or for the end of an episode."""

from __future__ import annotations

import sys
import threading
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from rle.runs.callbacks import Callback
from rle.runs.episodes import Episode
from rle.runs.trainer import Trainer
from rle.tasks.asked import Asked

SILENT_SECONDS = 60.0
"""After which an environment that does not answer is spoken of."""
ENDLESS_STEPS = 100_000
"""After which an episode that does not end is spoken of: Atari's longest have 27,000."""


@contextmanager
def telling_of_silence(asked: Asked, quiet: bool) -> Iterator[None]:
    """Say once of each question that the task does not answer what it is, and since when."""
    if quiet:
        yield
        return
    over = threading.Event()
    watcher = threading.Thread(target=_watch, args=(asked, over), name="rle silence", daemon=True)
    watcher.start()
    try:
        yield
    finally:
        over.set()
        watcher.join()


def _watch(asked: Asked, over: threading.Event) -> None:
    told = None
    while not over.wait(SILENT_SECONDS / 10):
        question = asked.question
        if question is None or question is told:
            continue
        seconds = time.monotonic() - question.since
        if seconds >= SILENT_SECONDS:
            told = question
            print(
                f"{asked.who()} has not answered {question.call} for {seconds:.0f} s, at step "
                f"{question.step:,}: Ctrl-C ends the run, and once more does so at once",
                file=sys.stderr,
                flush=True,
            )


class TellOfEndlessEpisodes(Callback):
    """Warns once if an episode goes on and on."""

    def __init__(self) -> None:
        self._told = False

    def on_iteration(
        self, trainer: Trainer, metrics: dict[str, Any], episodes: list[Episode]
    ) -> None:
        env, length = trainer.episodes.longest()
        if length < ENDLESS_STEPS or self._told:
            return
        self._told = True
        warnings.warn(
            f"the episode in environment {env} of {trainer.config.task} has gone on for {length:,} "
            f"steps, at step {trainer.step:,}: scores are only known of episodes that end; if this one "
            "should, give --time-limit.",
            stacklevel=2,
        )
