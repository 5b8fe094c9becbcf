"""A suite of a stranger's, through the command: its file alone, in the folder one starts from."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

import rle
from rle.cli import main
from rle.errors import UsageError
from rle.modules import installed
from rle.presets import default_preset, preset_config
from rle.runs.directory import RunDirectory
from rle.runs.peers.played import plays_gymnasium_or_envpool
from rle.tasks import check_task_name, make_task, task_names
from tests.builders import interrupt_after
from tests.test_quick_start import rle_command

HERE = Path(__file__).parent
SHORT = "corridor_suite:SUITE/short"
SMALL = [
    *("--num-envs", "4", "--rollout-steps", "16", "--total-steps", "256"),
    *("--checkpoint-every", "64", "--compile", "off"),
]


def test_trained_resumed_evaluated_and_reported_without_touching_the_package(
    tmp_path: Path,
) -> None:
    shutil.copy(HERE / "corridor_suite.py", tmp_path)
    result = rle_command(tmp_path, "train", SHORT, *SMALL)
    assert (result.returncode, result.stderr) == (0, "")
    path = tmp_path / "runs" / "corridor_suite-SUITE-short-rle-seed0"
    whole = RunDirectory.open(path).metrics()
    assert json.loads((path / "config.json").read_text())["task"] == SHORT
    assert whole[-1]["coverage"] > 0.5
    interrupt_after(path, -1)
    for verb, *arguments in (
        ("resume", str(path)),
        ("eval", str(path), "--episodes", "3"),
        ("report", "runs"),
    ):
        result = rle_command(tmp_path, verb, *arguments)
        assert (result.returncode, result.stderr) == (0, ""), verb
    resumed = RunDirectory.open(path)
    assert resumed.finished()["measures"]["coverage"] == whole[-1]["coverage"]
    for line, again in zip(whole, resumed.metrics(), strict=True):
        assert {**line, "seconds": 0} == {**again, "seconds": 0}
    assert (tmp_path / "runs" / "report" / "report.html").exists()


@pytest.fixture
def suite(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The stranger's module, under a name of this test's own."""
    shutil.copy(HERE / "corridor_suite.py", tmp_path / "strange_suite.py")
    monkeypatch.syspath_prepend(tmp_path)
    return "strange_suite:SUITE"


def test_its_settings_are_the_preset_where_it_has_any(suite: str) -> None:
    config = preset_config(f"{suite}/long", "rle")
    assert (config.total_steps, config.network.policy_hidden) == (20_000, (16,))
    assert config.rle is not None
    assert config.rle.dimension == 2
    other = preset_config("envpool/CoinrunHard-v0", "rle")
    assert config.network.value_hidden == other.network.value_hidden
    assert preset_config(f"{suite}/long", "none").rle is None
    assert default_preset(f"{suite}/long") == "paper"
    with pytest.raises(UsageError, match="'desktop' is for fourroom, control/, atari/ and sparse/"):
        preset_config(f"{suite}/long", "rle", "desktop")


def test_a_mistake_in_its_settings_is_said_to_be_there(
    suite: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (tmp_path / "strange_suite.py").read_text()
    (tmp_path / "wrong_suite.py").write_text(text.replace("policy_hidden", "polcy_hidden"))
    with pytest.raises(
        UsageError, match=r"settings of the suite of .*'polcy_hidden'.*policy_hidden"
    ):
        preset_config("wrong_suite:SUITE/long", "rle")


def test_the_peer_plays_what_it_can(suite: str) -> None:
    for task, plays in (
        ("fourroom", True),
        ("gym/CartPole-v1", True),
        (f"{suite}/long", False),
        ("gym/tests.outsider.makers:counting", False),
    ):
        assert plays_gymnasium_or_envpool(preset_config(task, "none")) is plays, task


def test_it_takes_the_settings_it_says(
    suite: str, tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    train = ["train", f"{suite}/short", *SMALL, "--out", str(tmp_path / "run")]
    assert main([*train, "--wrappers", "a:b"]) == 2
    assert "wrappers would do nothing" in capsys.readouterr().err
    assert main([*train, "--env-kwargs", '{"patience": 1}']) == 0
    config = RunDirectory.open(tmp_path / "run").config()
    task = make_task(config.task, config.environment, torch.device("cpu"))
    assert task.time_limit == 5  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("task", "reason"),
    [
        (
            "strange_suite:SUITE/shrt",
            "strange_suite:SUITE has no task 'shrt': did you mean 'short'",
        ),
        ("strange_suite:SUIT/short", "has no 'SUIT': did you mean 'SUITE'"),
        ("strange_suite:LENGTHS/short", "is of the kind dict: make it a Suite"),
        ("no_such_suite:SUITE/short", "there is no module 'no_such_suite' in"),
        ("strange_suite:SUITE", "a task of a suite of yours strange_suite:SUITE/<task>"),
    ],
)
def test_what_is_wrong_with_its_name(suite: str, task: str, reason: str) -> None:
    with pytest.raises(UsageError, match=reason) as caught:
        check_task_name(task)
    assert "\n" not in str(caught.value)


@pytest.fixture
def package(suite: str, tmp_path: Path) -> Iterator[None]:
    """An installed package that brings the suite, and one that is broken."""
    described = tmp_path / "strange-1.0.dist-info"
    described.mkdir()
    (described / "METADATA").write_text("Metadata-Version: 2.1\nName: strange\nVersion: 1.0\n")
    (described / "entry_points.txt").write_text(
        f"[rle.suites]\ncorridor = {suite}\nbroken = no_such_module:SUITE\n"
    )
    installed.cache_clear()
    yield
    installed.cache_clear()


@pytest.mark.usefixtures("package")
def test_installed_packages_bring_suites() -> None:
    with pytest.warns(UserWarning, match="left out: 'broken' is brought by") as caught:
        names = task_names()
    assert len(caught) == 1
    assert "\n" not in str(caught[0].message)
    assert names["corridor/long"] == "a corridor of 50 cells"
    assert "broken" not in " ".join(names)
    assert preset_config("corridor/long", "none").total_steps == 20_000
    check_task_name("corridor/short")
    with pytest.raises(UsageError, match="corridor has no task 'shrt'"):
        rle.train("corridor/shrt")
    with pytest.raises(UsageError, match="'broken' is brought by an installed package as"):
        check_task_name("broken/task")
