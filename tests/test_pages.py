"""The pages on agents, on callbacks and on problems of one's own, followed to the letter."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

import rle
from rle.runs.train import train_config
from tests.builders import small_config

DOCS = Path(__file__).parent.parent / "docs"
SMALL = {"num_envs": 4, "rollout_steps": 16, "minibatches": 1, "compile": "off"}


def blocks(page: str) -> list[str]:
    return re.findall(r"```python\n(.*?)```", (DOCS / page).read_text(), re.DOTALL)


def test_agents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    config = small_config("rle", "gym/CartPole-v1", total_steps=256)
    train_config(config, tmp_path / "runs" / "gym-CartPole-v1-rle-seed0", quiet=True)
    loop, many = blocks("agents.md")
    names: dict[str, object] = {}
    exec(loop, names)
    assert names["terminated"] or names["truncated"]
    exec(many, names)
    assert names["played"].action.shape == (4,)  # type: ignore[attr-defined]


def test_callbacks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    train = rle.train
    runs = []

    def small(task: str, total_steps: int, callbacks: list[rle.Callback]) -> None:
        assert total_steps == 100_000
        runs.append(train(task, total_steps=640, quiet=True, callbacks=callbacks, **SMALL))

    monkeypatch.setattr(rle, "train", small, raising=False)
    first, sink = blocks("callbacks.md")
    exec(first, {})
    (run,) = runs
    assert run.finished()["step"] == 640

    (tmp_path / "csv_sink.py").write_text(sink)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "csv_sink", raising=False)
    again = train(
        "fourroom", total_steps=256, quiet=True, sinks=("csv_sink:CsvSink",), out="again", **SMALL
    )
    # Not by monkeypatch, which would put the page's module back for the tests that come after.
    del sys.modules["csv_sink"]
    rows = (again.path / "scores.csv").read_text().splitlines()
    assert rows == [f"{line['step']}," for line in again.metrics()]


def test_check(capsys: pytest.CaptureFixture[str]) -> None:
    environment, samples, plug_in = blocks("check.md")
    exec(environment, {})
    assert "fine: observation: each of the 4 components changes." in capsys.readouterr().out
    exec(samples, {})
    assert "fine: bonus: F deviates by " in capsys.readouterr().out
    exec(plug_in, {})
    assert " z: the policy " in capsys.readouterr().out


def test_my_problem(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    run = train_config(
        small_config("rle", "fourroom"), tmp_path / "runs" / "fourroom-rle-seed0", quiet=True
    )
    (followed,) = blocks("my-problem.md")
    exec(followed, {})
    # The last fifth of eight iterations is one of them.
    line = run.metrics()[-1]
    ratio = line["bonus_rle_mean"] / line["bonus_rle_std"]
    assert capsys.readouterr().out == f"F is {ratio:+.2f} deviations above zero\n"
