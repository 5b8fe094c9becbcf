"""Runs of a study that differ in their seed alone are compiled once: where that is worth it."""

from __future__ import annotations

import pytest

from rle.config import RunConfig
from rle.learn.compilation import WORTHWHILE_UPDATES
from rle.presets import preset_config
from rle.settings import replace
from rle.studies import running


@pytest.fixture(autouse=True)
def compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "compiler_available", lambda: True)


ENOUGH = -(-WORTHWHILE_UPDATES // 1600)
"""Of the runs below, to be worth compiling in one process."""


def runs(seeds: int, **settings: object) -> dict[str, RunConfig]:
    """Each of 100 rollouts of 4 x 4 gradient steps."""
    config = preset_config("fourroom", "rle")
    config = replace(config, {"total_steps": 100 * config.batch_size, **settings})
    return {str(seed): replace(config, {"seed": seed}) for seed in range(seeds)}


def choices(given: dict[str, RunConfig], workers: int) -> list[str]:
    made = running._compiled_together(given, workers)
    assert list(made) == list(given)
    return [run.machine.compile for run in made.values()]


def test_as_many_as_are_long_enough_for_every_process() -> None:
    assert choices(runs(ENOUGH - 1), 1) == ["auto"] * (ENOUGH - 1)
    assert choices(runs(ENOUGH), 1) == ["on"] * ENOUGH
    assert choices(runs(ENOUGH), 2) == ["auto"] * ENOUGH
    assert choices(runs(2 * ENOUGH), 2) == ["on"] * (2 * ENOUGH)


def test_only_those_that_leave_it_open_and_have_something_to_gain() -> None:
    assert choices(runs(ENOUGH, compile="off"), 1) == ["off"] * ENOUGH
    assert choices(runs(ENOUGH, micro_batch=256), 1) == ["auto"] * ENOUGH
    # What another method needs is none of theirs.
    others = {f"{name} of others": run for name, run in runs(ENOUGH, learning_rate=1e-4).items()}
    assert choices(runs(2) | others, 1) == ["auto"] * 2 + ["on"] * ENOUGH


def test_nothing_without_a_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "compiler_available", lambda: False)
    assert choices(runs(ENOUGH), 1) == ["auto"] * ENOUGH
