"""The package's own schedule on machines that die, against a clock that is followed by hand."""

import itertools
import math
from collections.abc import Callable

import pytest
from tools.simulated_cluster import Machines, lives, simulate

from rle.studies.schedule import ATTEMPTS
from tests.builders import small_config

RUN = small_config("none", total_steps=128 * 8)
MACHINES = Machines(nodes=1, rate=8.0, start=10.0, checkpoint=20.0, repair=5.0)


def told(*seconds: float) -> Callable[[], float]:
    """Lives of these lengths; machines that come after them live for ever."""
    return itertools.chain(seconds, itertools.repeat(math.inf)).__next__


def test_without_deaths() -> None:
    """1024 steps at 8 per second take 128 s, after 10 s of starting; two on one machine twice that."""
    failed, cluster = simulate({"a": RUN, "b": RUN}, MACHINES, told())
    assert (failed, cluster.clock, cluster.attempts, cluster.lost) == ((), 2 * 138.0, 2, 0)


def test_a_death_by_hand() -> None:
    """After 75 s it has trained for 65, of which 60 are saved: 5 s of 8 steps are lost.

    Back at 80 s, it starts anew and is at its old place at 90 s; 128 - 60 s are left.
    """
    failed, cluster = simulate({"a": RUN}, MACHINES, told(75.0))
    assert failed == ()
    assert (cluster.deaths, cluster.attempts, cluster.lost) == (1, 2, 5 * 8)
    assert cluster.clock == 90.0 + 68.0


def test_a_run_whose_machines_always_die_early_is_given_up() -> None:
    failed, cluster = simulate({"a": RUN, "b": RUN}, MACHINES, told(*[9.0] * ATTEMPTS))
    assert failed == ("a",)
    assert cluster.attempts == ATTEMPTS + 1


def test_a_thousand_machines_that_die_every_day() -> None:
    """Runs of 10,000 s; every minute or two a machine dies, and yet all finish."""
    runs = {f"run-{number}": RUN for number in range(1140)}
    machines = Machines(rate=RUN.total_steps / 10_000)
    failed, cluster = simulate(runs, machines, lives(86_400.0, seed=0))
    assert failed == ()
    # A machine is busy for about 10,000 s per run, and each of 1140 such times has 10,000/86,400 deaths.
    assert cluster.deaths == pytest.approx(1140 * 10_000 / 86_400, rel=0.3)
    # Each costs half the time between checkpoints, on average.
    seconds = cluster.lost / cluster.deaths / machines.rate
    assert seconds == pytest.approx(machines.checkpoint / 2, rel=0.25)
