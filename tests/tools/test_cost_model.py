"""The cost model, by hand."""

import pytest
from tools.cost_model import Device, Work, iteration, study_days

WORK = Work(num_envs=8, rollout_steps=10, gradient_steps=4, parameters=250_000)
DEVICE = Device(0.008, 0.002, 0.01, 0.02, saving=0.0, latency=0.001, bandwidth=1e6)


def test_alone_an_iteration_is_its_transitions() -> None:
    # 80 transitions of 0.04 s.
    assert iteration(WORK, DEVICE) == pytest.approx(3.2)


def test_two_ranks_halve_the_work_and_talk() -> None:
    # 1.6 s of work; 4 messages of 1 ms over log2(4) hops; 4 times 1 MB at 1 MB/s, half of it twice.
    assert iteration(WORK, DEVICE, 2) == pytest.approx(1.6 + 4 * 0.001 * 2 + 4.0)


def test_ranks_that_normalise_observations_talk_at_every_step() -> None:
    lockstep = Work(8, 10, 4, 250_000, lockstep=True)
    assert iteration(lockstep, DEVICE, 2) - iteration(WORK, DEVICE, 2) == pytest.approx(0.02)


def test_a_study_is_as_long_as_its_longest_queue() -> None:
    # 10 runs of 80 steps at 25 steps/s, 3.2 s each, on 4 devices: three in a row, with 1 s to start.
    ranks, days = study_days(10, 80, WORK, DEVICE, 4, start=1.0)
    assert ranks == 1
    assert days * 86400 == pytest.approx(3 * 4.2)


def test_devices_that_would_idle_are_given_to_runs() -> None:
    quick = Device(0.04, saving=0.0, latency=0.0, bandwidth=1e12)
    ranks, days = study_days(1, 80, WORK, quick, 4, start=0.0)
    assert ranks == 4
    assert days * 86400 == pytest.approx(0.8, rel=1e-3)
