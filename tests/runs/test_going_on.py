"""A run that goes on for longer is the run that was so long from the start, or it says what differs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rle.cli import main
from rle.config import RunConfig
from rle.errors import UsageError
from rle.learn import compilation
from rle.runs.callbacks import Callback
from rle.runs.directory import CHANGES, CONFIG, FINISHED, RunDirectory
from rle.runs.going_on import was_to_make
from rle.runs.manifest import MANIFEST
from rle.runs.train import resume, train_config
from rle.settings import replace
from rle.studies.running import run_all
from tests.builders import small_config
from tests.runs.test_images import atari_config
from tests.runs.test_resume import assert_same_tree, stop_after

SHORT, LONG = 128 * 6, 128 * 11
"""Checkpoints stand at multiples of 4 · 128: neither of these is one."""


def without_time(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{k: v for k, v in line.items() if k != "seconds"} for line in lines]


def assert_same_run(first: RunDirectory, second: RunDirectory) -> None:
    assert_same_tree(first.load_checkpoint(), second.load_checkpoint())
    assert without_time(first.metrics()) == without_time(second.metrics())
    assert first.episodes() == second.episodes() != []
    assert first.config() == second.config()
    ours, theirs = first.finished(), second.finished()
    assert ours is not None
    assert theirs is not None
    assert (ours["step"], ours["measures"]) == (theirs["step"], theirs["measures"])


def lengths(config: RunConfig) -> tuple[RunConfig, RunConfig]:
    return tuple(replace(config, {"total_steps": steps}) for steps in (SHORT, LONG))  # type: ignore[return-value]


@pytest.mark.parametrize("explore", ["rle", "rle+rnd"])
@pytest.mark.parametrize("task", ["fourroom-sparse", "gym/CartPole-v1"])
def test_bit_for_bit_the_longer_run(task: str, explore: str, tmp_path: Path) -> None:
    constant = {"anneal_learning_rate": False, "rle__anneal": False}
    config = small_config(explore, task=task, time_limit=37, **constant)
    short, long = lengths(config)
    whole = train_config(long, tmp_path / "whole", quiet=True)
    run = train_config(short, tmp_path / "short", quiet=True)
    at_the_end = run.load_checkpoint(SHORT)
    resume(run.path, quiet=True, total_steps=LONG)
    assert_same_run(whole, run)
    # The short run's last checkpoint is one more, and still the same.
    assert whole.checkpoint_steps() == [512, 1024, LONG]
    assert run.checkpoint_steps() == [512, SHORT, 1024, LONG]
    assert_same_tree(run.load_checkpoint(SHORT), at_the_end)
    (change,) = run.changes()
    assert change["differs"] is None


def test_what_was_changed_is_kept(tmp_path: Path) -> None:
    short, long = lengths(small_config("none"))
    run = train_config(short, tmp_path / "run", quiet=True)
    closed = run.finished()
    meta = run.meta()
    resume(run.path, quiet=True, total_steps=LONG)
    resume(run.path, quiet=True, total_steps=128 * 20)
    first, second = run.changes()
    assert (first["step"], first["from_total_steps"], first["to_total_steps"]) == (
        SHORT,
        SHORT,
        LONG,
    )
    assert (second["step"], second["from_total_steps"]) == (LONG, LONG)
    assert first["finished"] == closed
    assert run.config() == replace(long, {"total_steps": 128 * 20})
    assert run.meta() == meta


@pytest.mark.parametrize("total", [1, SHORT - 1, SHORT])
def test_steps_that_are_made_already_are_refused(total: int, tmp_path: Path) -> None:
    run = train_config(lengths(small_config("none"))[0], tmp_path / "run", quiet=True)
    before = {path: path.read_bytes() for path in run.path.rglob("*") if path.is_file()}
    with pytest.raises(UsageError, match=f"has made {SHORT} steps already"):
        resume(run.path, quiet=True, total_steps=total)
    assert {path: path.read_bytes() for path in run.path.rglob("*") if path.is_file()} == before


def test_the_last_iteration_may_have_gone_beyond_the_steps_asked_for(tmp_path: Path) -> None:
    """Of 700 steps, 768 were made: 750 are no more than that."""
    run = train_config(small_config("none", total_steps=700), tmp_path / "run", quiet=True)
    with pytest.raises(UsageError, match=r"750, and .* has made 768 steps"):
        resume(run.path, quiet=True, total_steps=750)


def test_an_interrupted_run_may_become_longer_or_shorter(tmp_path: Path) -> None:
    config = small_config("rle", time_limit=37)
    for total in (128 * 6, 128 * 10):
        expected = replace(config, {"total_steps": total})
        whole = train_config(expected, tmp_path / f"whole-{total}", quiet=True)
        stop_after(config, tmp_path / f"stopped-{total}", 3)
        resumed = resume(tmp_path / f"stopped-{total}", quiet=True, total_steps=total)
        assert_same_tree(whole.load_checkpoint(), resumed.load_checkpoint())
        assert resumed.config() == expected


def test_an_interrupted_continuation_goes_on_by_itself(tmp_path: Path) -> None:
    class Interrupt(Callback):
        def on_iteration(self, trainer, metrics, episodes) -> None:
            if metrics["step"] == 128 * 9:
                raise KeyboardInterrupt

    short, long = lengths(small_config("rle", time_limit=37))
    whole = train_config(long, tmp_path / "whole", quiet=True)
    run = train_config(short, tmp_path / "run", quiet=True)
    with pytest.raises(KeyboardInterrupt):
        resume(run.path, quiet=True, total_steps=LONG, callbacks=[Interrupt()])
    assert run.finished() is None
    resume(run.path, quiet=True)
    assert_same_run(whole, run)
    assert len(run.changes()) == 1


def test_a_run_that_was_stopped_early_goes_on(tmp_path: Path) -> None:
    class Stop(Callback):
        def on_iteration(self, trainer, metrics, episodes) -> None:
            if metrics["step"] == 128 * 5:
                trainer.stop("enough")

    config = small_config("rle", time_limit=37)
    whole = train_config(config, tmp_path / "whole", quiet=True)
    run = train_config(config, tmp_path / "run", quiet=True, callbacks=[Stop()])
    resume(run.path, quiet=True, total_steps=config.total_steps)
    assert_same_run(whole, run)
    (change,) = run.changes()
    assert change["finished"]["stopped"] == "enough"


def test_an_annealed_learning_rate_falls_to_the_new_end(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    class Rates(Callback):
        def __init__(self) -> None:
            self.seen: list[float] = []

        def on_iteration(self, trainer, metrics, episodes) -> None:
            self.seen.append(trainer.learner.learning_rate)

    rates = Rates()
    short = small_config("none", total_steps=128 * 4, anneal_learning_rate=True, learning_rate=1.0)
    run = train_config(short, tmp_path / "run", quiet=True, callbacks=[rates])
    resume(run.path, callbacks=[rates], total_steps=128 * 8)
    assert rates.seen == pytest.approx([1, 0.75, 0.5, 0.25, 0.5, 0.375, 0.25, 0.125])
    sentence = run.changes()[0]["differs"]
    assert "not bit for bit a run of 1,024 steps from the start: the learning rate" in sentence
    assert sentence in capsys.readouterr().out


def test_an_annealed_bonus_falls_to_the_new_end(tmp_path: Path) -> None:
    class Weights(Callback):
        def __init__(self) -> None:
            self.seen: list[float] = []

        def on_iteration(self, trainer, metrics, episodes) -> None:
            self.seen.append(float(trainer.learner._coefficients[1]))

    weights = Weights()
    short = small_config("rle", total_steps=128 * 4, rle__anneal=True, rle__coefficient=1.0)
    run = train_config(short, tmp_path / "run", quiet=True, callbacks=[weights])
    resume(run.path, quiet=True, callbacks=[weights], total_steps=128 * 8)
    assert weights.seen == pytest.approx([1, 0.75, 0.5, 0.25, 0.5, 0.375, 0.25, 0.125])
    assert "from the start: the bonus of rle has fallen" in run.changes()[0]["differs"]


def test_compilation_that_would_only_pay_now(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """16 updates an iteration: 96 do not pay where 100 do, and 176 would."""
    monkeypatch.setattr(compilation, "WORTHWHILE_UPDATES", 100)
    monkeypatch.setattr("rle.runs.going_on.compiler_available", lambda: True)
    short = small_config("none", total_steps=SHORT, epochs=4, minibatches=4)
    run = train_config(short, tmp_path / "run", quiet=True)
    resume(run.path, quiet=True, total_steps=LONG)
    assert "it is not compiled, as it began, and one of" in run.changes()[0]["differs"]


def test_engines_that_cannot_be_saved(tmp_path: Path) -> None:
    config = atari_config("Pong", "none", total_steps=64, anneal_learning_rate=False)
    run = train_config(config, tmp_path / "run", quiet=True)
    with pytest.warns(UserWarning, match="EnvPool cannot save"):
        resume(run.path, quiet=True, total_steps=128)
    assert run.metrics()[-1]["step"] == 128
    assert "new episodes start" in run.changes()[0]["differs"]


def test_what_cannot_go_on_is_left_as_it_was(tmp_path: Path) -> None:
    run = train_config(lengths(small_config("none"))[0], tmp_path / "run", quiet=True)
    (run.path / MANIFEST).unlink()
    values = json.loads((run.path / CONFIG).read_text())
    values["network"]["policy_hidden"] = [17]
    (run.path / CONFIG).write_text(json.dumps(values))
    with pytest.raises(UsageError, match="does not fit"):
        resume(run.path, quiet=True, total_steps=LONG)
    assert run.finished() is not None
    assert run.config().total_steps == SHORT
    assert not (run.path / CHANGES).exists()


def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = train_config(lengths(small_config("none"))[0], tmp_path / "run", quiet=True)
    assert main(["resume", str(run.path), "--total-steps", "1e3"]) == 0
    assert run.config().total_steps == 1000
    assert run.metrics()[-1]["step"] == 1024
    assert main(["resume", str(run.path), "--total-steps", "1_000"]) == 2
    assert "has made 1,024 steps already" in capsys.readouterr().err


def test_a_study_leaves_a_longer_run_alone(tmp_path: Path) -> None:
    short = small_config("none", total_steps=SHORT)
    runs = {"none/seed-0": short}
    run_all(runs, tmp_path, workers=1, quiet=True)
    run = RunDirectory.open(tmp_path / "none/seed-0")
    resume(run.path, quiet=True, total_steps=LONG)
    with pytest.warns(UserWarning, match="go on to 1,408 steps, beyond the study's 768"):
        again = run_all(runs, tmp_path, workers=1, quiet=True)
    assert (again.finished, again.steps) == (("none/seed-0",), 0)
    # Also while it is on its way: somebody else is training it.
    (run.path / FINISHED).unlink()
    with run.locked(), pytest.warns(UserWarning, match="left as it is"):
        again = run_all(runs, tmp_path, workers=1, quiet=True)
    assert (again.finished, again.failed) == (("none/seed-0",), ())
    other = {"none/seed-0": replace(short, {"learning_rate": 1e-4})}
    with (
        pytest.warns(UserWarning, match="left as it is"),
        pytest.raises(UsageError, match="other settings"),
    ):
        run_all(other, tmp_path, workers=1, quiet=True)


def test_a_run_that_was_longer_from_the_start_is_another(tmp_path: Path) -> None:
    run = train_config(lengths(small_config("none"))[1], tmp_path / "run", quiet=True)
    assert not was_to_make(run, SHORT)
    assert json.loads((run.path / "config.json").read_text())["total_steps"] == LONG
