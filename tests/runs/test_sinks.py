"""Where an iteration's numbers go."""

from __future__ import annotations

import csv
import json
import os
import sqlite3
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from rle.cli import main
from rle.errors import UsageError
from rle.runs.directory import RunDirectory
from rle.runs.sinks import find_sink
from rle.runs.train import resume, train_config
from rle.settings import from_dict, to_dict, with_defaults
from tests.builders import small_config
from tests.runs.test_resume import stop_after

OUTSIDER = Path(__file__).parent.parent / "outsider"


def test_tensorboard_gets_every_metric(tmp_path: Path) -> None:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    run = train_config(small_config("rle", sinks=("tensorboard",)), tmp_path / "run", quiet=True)
    events = EventAccumulator(str(run.path / "tensorboard"))
    events.Reload()
    metrics = run.metrics()
    logged = {scalar.step: scalar.value for scalar in events.Scalars("coverage")}
    assert list(logged) == [line["step"] for line in metrics]
    assert abs(logged[1024] - metrics[-1]["coverage"]) < 1e-6


def test_episodes_of_an_iteration_stand_at_their_step(tmp_path: Path) -> None:
    # Eight environments truncated together every 20 steps of 16-step rollouts.
    run = train_config(
        small_config("none", task="fourroom", time_limit=20), tmp_path / "run", quiet=True
    )
    steps = [episode["step"] for episode in run.episodes()]
    assert sorted(set(steps)) == [160 * k for k in range(1, 7)]
    assert all(episode["length"] == 20 for episode in run.episodes())
    assert {episode["iteration"] for episode in run.episodes()} == {2, 3, 4, 5, 7, 8}


def rows_of(run: RunDirectory) -> list[list[str]]:
    return list(csv.reader((run.path / "metrics.csv").read_text().splitlines()))


def test_a_sink_of_a_users_through_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(OUTSIDER)
    monkeypatch.setattr(sys, "path", list(sys.path))
    out = tmp_path / "run"
    small = ["--total-steps", "1024", "--num-envs", "8", "--rollout-steps", "16"]
    command = ["train", "fourroom", "--sinks", "csv_sink:CsvSink", *small, "--out", str(out)]
    assert main(command) == 0
    run = RunDirectory.open(out)
    assert run.config().machine.sinks == ("csv_sink:CsvSink",)
    header, *rows = rows_of(run)
    assert header == ["step", "coverage"]
    assert [[int(step), float(share)] for step, share in rows] == [
        [line["step"], line["coverage"]] for line in run.metrics()
    ]


def test_a_resumed_run_finds_its_sinks_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(OUTSIDER))
    config = small_config("none", sinks=("csv_sink:CsvSink",))
    stop_after(config, tmp_path / "run", 5)
    run = resume(tmp_path / "run", quiet=True)
    assert [row[0] for row in rows_of(run)] == ["step", "768", "896", "1024"]


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("wandbb", "there is no sink 'wandbb': did you mean 'wandb'"),
        ("no_such_module:Sink", "no module 'no_such_module'"),
        ("csv_sink:Csv", "has no function 'Csv': did you mean 'CsvSink'"),
        ("csv_sink:csv", "has no function 'csv'"),
    ],
)
def test_mistaken_names(name: str, sentence: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(OUTSIDER))
    with pytest.raises(UsageError, match=sentence):
        find_sink(name)


def test_nothing_is_written_for_a_sink_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no sink"):
        train_config(small_config("none", sinks=("paper",)), tmp_path / "run", quiet=True)
    assert not (tmp_path / "run").exists()


def test_texts_for_sinks() -> None:
    assert small_config("none", sinks=["wandb", "a:B"]).machine.sinks == ("wandb", "a:B")
    with pytest.raises(UsageError, match=r"sinks is \(1,\): give names"):
        small_config("none", sinks=(1,))
    with pytest.raises(UsageError, match="sinks is 'wandb': give names"):
        small_config("none", sinks="wandb")


@pytest.mark.parametrize("at_the_top", [True, False])
@pytest.mark.parametrize(("before", "now"), [(True, ("tensorboard",)), (False, ())])
def test_configurations_from_before_sinks(
    at_the_top: bool, before: bool, now: tuple[str, ...]
) -> None:
    values = to_dict(small_config("none"))
    del values["machine"]["sinks"]
    (values if at_the_top else values["machine"])["tensorboard"] = before
    assert from_dict(values).machine.sinks == now
    assert from_dict(with_defaults(values)).machine.sinks == now


def test_weights_and_biases_offline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wandb = pytest.importorskip("wandb")
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setenv("WANDB_SILENT", "true")
    monkeypatch.setenv("WANDB_CACHE_DIR", str(tmp_path / "cache"))
    run = train_config(small_config("none", sinks=("wandb",)), tmp_path / "run", quiet=True)
    (folder,) = (run.path / "wandb").glob("offline-run-*")
    wandb.teardown()  # what writes the log does so in a process of its own
    (log,) = folder.glob("*.wandb")
    # The log is binary; names, and numbers as JSON, stand in it as text.
    text = log.read_bytes()
    assert b"visitation_entropy_max" in text
    for line in run.metrics():
        assert json.dumps(line["coverage"]).encode() in text
    assert b"fourroom-sparse" in text  # the configuration


def test_weights_and_biases_without_a_login(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wandb = pytest.importorskip("wandb")

    def refuse(**_: Any) -> None:
        raise wandb.errors.UsageError("no API key")

    monkeypatch.setattr(wandb, "init", refuse)
    config = small_config("none", sinks=("wandb",))
    with pytest.raises(UsageError, match=r"does not start \(no API key\): run `wandb login`"):
        train_config(config, tmp_path / "run", quiet=True)


class FakeRun:
    def __init__(self) -> None:
        self.logged: list[tuple[dict[str, Any], int | None]] = []
        self.finished = False

    def log(self, metrics: dict[str, Any], step: int | None = None) -> None:
        self.logged.append((metrics, step))

    def finish(self) -> None:
        self.finished = True


def test_trackio_gets_every_metric(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Against a stand-in with Trackio's signatures: the package itself brings a web server along."""
    runs: list[tuple[dict[str, Any], FakeRun]] = []

    def init(
        project: str,
        name: str | None = None,
        *,
        config: dict[str, Any] | None = None,
        resume: str = "never",
    ) -> FakeRun:
        runs.append(
            ({"project": project, "name": name, "config": config, "resume": resume}, FakeRun())
        )
        return runs[-1][1]

    stand_in = ModuleType("trackio")
    stand_in.init = init  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "trackio", stand_in)
    monkeypatch.delitem(sys.modules, "rle.runs.sinks.trackio", raising=False)
    config = small_config("none", sinks=("trackio",))
    run = train_config(config, tmp_path / "run", quiet=True)
    ((settings, logged),) = runs
    assert (settings["project"], settings["name"], settings["resume"]) == ("rle", "run", "allow")
    assert settings["config"]["task"] == "fourroom-sparse"
    assert [step for _, step in logged.logged] == [line["step"] for line in run.metrics()]
    first = run.metrics()[0]
    assert logged.logged[0][0] == {name: value for name, value in first.items() if name != "step"}
    assert logged.finished


def test_the_real_trackio_keeps_every_step(tmp_path: Path) -> None:
    """Where it is installed: it needs an older Pillow than the other tests' packages do."""
    pytest.importorskip("trackio")
    script = f"""
import rle
rle.train("fourroom", "none", total_steps=8192, compile="off", quiet=True, sinks=("trackio",),
          out={str(tmp_path / "run")!r})
"""
    folder = tmp_path / "kept"
    subprocess.run(
        [sys.executable, "-c", script],
        check=True,
        capture_output=True,
        env={**os.environ, "TRACKIO_DIR": str(folder)},
    )
    with sqlite3.connect(folder / "rle.db") as kept:
        assert kept.execute("select run_name, step from metrics").fetchall() == [
            ("run", 4096),
            ("run", 8192),
        ]
