"""What a callback is told, and what it may do."""

from pathlib import Path
from typing import Any

import pytest

import rle
from rle.errors import UsageError
from rle.runs.train import resume, train_config
from tests.builders import small_config
from tests.runs.test_resume import assert_same_tree, stop_after


class EarlyStopping(rle.Callback):
    """Ends the run when the coverage has not grown for some iterations."""

    def __init__(self, patience: int) -> None:
        self.patience, self.best, self.waited = patience, float("-inf"), 0

    def on_iteration(self, trainer, metrics, episodes) -> None:
        self.waited = 0 if metrics["coverage"] > self.best else self.waited + 1
        self.best = max(self.best, metrics["coverage"])
        if self.waited >= self.patience:
            trainer.stop(f"no new cell for {self.patience} iterations")


class Warmup(rle.Callback):
    """Lets the learning rate grow to its value over the first steps."""

    def __init__(self, steps: int) -> None:
        self.steps = steps

    def on_start(self, run, trainer) -> None:
        self.on_iteration(trainer, {}, [])

    def on_iteration(self, trainer, metrics, episodes) -> None:
        share = min(1.0, (trainer.step + 1) / self.steps)
        trainer.learner.learning_rate = trainer.config.learner.learning_rate * share


class Diary(rle.Callback):
    """Notes what it is told."""

    def __init__(self) -> None:
        self.entries: list[Any] = []

    def on_start(self, run, trainer) -> None:
        self.entries.append(("start", run.path.name, trainer.step))

    def on_iteration(self, trainer, metrics, episodes) -> None:
        self.entries.append((metrics["step"], len(episodes)))

    def on_end(self, run, trainer) -> None:
        self.entries.append(("end", trainer.step))


class Fixed(rle.Callback):
    """Stops at a step."""

    def __init__(self, step: int) -> None:
        self.step = step

    def on_iteration(self, trainer, metrics, episodes) -> None:
        if trainer.step >= self.step:
            trainer.stop("that was enough")


def test_each_iteration_is_told_between_start_and_end(tmp_path: Path) -> None:
    diary = Diary()
    # Eight environments are truncated together after 20 of each 16 steps: in the 2nd, 3rd, ... rollout.
    config = small_config("none", task="fourroom", time_limit=20)
    run = train_config(config, tmp_path / "run", quiet=True, callbacks=[diary])
    told = [(line["step"], line["episodes"]) for line in run.metrics()]
    assert told[1] == (256, 8)
    assert diary.entries == [("start", "run", 0), *told, ("end", 1024)]


def test_a_resumed_run_starts_where_it_stopped(tmp_path: Path) -> None:
    config = small_config("none")
    stop_after(config, tmp_path / "run", 6)
    diary = Diary()
    resume(tmp_path / "run", quiet=True, callbacks=[diary])
    assert diary.entries == [("start", "run", 768), (896, 0), (1024, 0), ("end", 1024)]


def test_a_stopped_run_is_finished_with_a_checkpoint_and_the_reason(tmp_path: Path) -> None:
    # 300 lies in the third iteration of 128 steps.
    run = train_config(small_config("rle"), tmp_path / "run", quiet=True, callbacks=[Fixed(300)])
    finished = run.finished()
    assert finished is not None
    assert (finished["step"], finished["stopped"]) == (384, "that was enough")
    assert run.checkpoint_steps() == [384]
    assert len(run.metrics()) == 3
    assert resume(run.path, quiet=True).metrics() == run.metrics()


def test_a_whole_run_gives_no_reason(tmp_path: Path) -> None:
    run = train_config(small_config("none"), tmp_path / "run", quiet=True, callbacks=[Fixed(9999)])
    assert "stopped" not in (run.finished() or {"stopped": None})


def test_what_stopped_early_had_computed_the_same(tmp_path: Path) -> None:
    whole = train_config(small_config("rle", checkpoint_every=128), tmp_path / "whole", quiet=True)
    config = small_config("rle", checkpoint_every=128)
    part = train_config(config, tmp_path / "part", quiet=True, callbacks=[Fixed(300)])
    assert_same_tree(whole.load_checkpoint(384), part.load_checkpoint())


def test_early_stopping(tmp_path: Path) -> None:
    # Uniformly random actions of one environment, cut after a step: two cells, and no third one.
    run = rle.train(
        "fourroom",
        "random",
        total_steps=8 * 16 * 8,
        num_envs=8,
        rollout_steps=16,
        time_limit=1,
        out=tmp_path / "run",
        quiet=True,
        callbacks=[EarlyStopping(2)],
    )
    finished = run.finished()
    assert finished is not None
    assert finished["stopped"] == "no new cell for 2 iterations"
    coverage = [line["coverage"] for line in run.metrics()]
    assert len(coverage) < 8
    assert coverage[-3] == coverage[-2] == coverage[-1]


def test_a_schedule_of_the_learning_rate(tmp_path: Path) -> None:
    rates: list[float] = []

    class Reader(rle.Callback):
        def on_iteration(self, trainer, metrics, episodes) -> None:
            rates.append(trainer.learner.optimiser.learning_rate)

    config = small_config("none", learning_rate=0.5)
    run = train_config(
        config, tmp_path / "run", quiet=True, callbacks=[Reader(), schedule := Warmup(512)]
    )
    # The reader comes first: it sees what the rate was in the iteration, from the step before it.
    before = [0, 128, 256, 384, 512, 640, 768, 896]
    assert rates == [0.5 * min(1.0, (step + 1) / schedule.steps) for step in before]
    plain = train_config(config, tmp_path / "plain", quiet=True)
    assert run.metrics()[0]["entropy"] != plain.metrics()[0]["entropy"]


def test_a_failing_run_still_ends_for_its_callbacks(tmp_path: Path) -> None:
    class Fails(rle.Callback):
        def on_iteration(self, trainer, metrics, episodes) -> None:
            raise UsageError("no more")

    diary = Diary()
    with pytest.raises(UsageError, match="no more"):
        train_config(small_config("none"), tmp_path / "run", quiet=True, callbacks=[diary, Fails()])
    assert diary.entries[-1] == ("end", 128)
    assert not (tmp_path / "run" / "finished.json").exists()
