"""Command lines that nobody should write: one sentence each, that says what to do."""

from pathlib import Path

import pytest

from rle.checks import LARGEST
from rle.cli import main
from rle.errors import UsageError
from rle.runs.handed_over import trainer_of
from tests.builders import small_config

LONG = "x" * 300


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("mine")
    (tmp_path / "folder.toml").mkdir()
    (tmp_path / "broken.toml").write_text("tasks = [")
    (tmp_path / "deep.toml").write_text("a = " + "[" * 100_000)
    (tmp_path / "digits.toml").write_text("seeds = " + "9" * 5000)
    (tmp_path / "binary.toml").write_bytes(b"\xff\0")
    return tmp_path


def said(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    """The one sentence of a command that is refused."""
    assert main(arguments) == 2
    (sentence,) = capsys.readouterr().err.splitlines()
    assert sentence.startswith("rle: ")
    return sentence


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("train gym/.a:b", "'.a' is no module's name"),
        ("train .a:b/c", "'.a' is no module's name"),
        ("train fourroom --explore .a:b", "'.a' is no module's name"),
        ("study .a:b", "'.a' is no module's name"),
        ("train fourroom --seed.x 1", "did you mean '--seed'?"),
        ("train fourroom --rle.distribution :", "give module:function of a function of yours"),
        ("train fourroom --rle.distribution .a:b", "'.a' is no module's name"),
        ("train fourroom --micro-batch 9223372036854775808", f"give at most {LARGEST}"),
        ("train fourroom --policy-hidden 9223372036854775808", f"give at most {LARGEST}"),
        (f"train fourroom --seed {'9' * 60}", "give 0 or a number of up to 38 digits"),
        ("train fourroom --num-envs 1e9 --rollout-steps 1e9", "choose fewer of either"),
        ("train fourroom --num-envs -3", "num-envs is -3: give a finite number above 0."),
        ("train fourroom --seed -1", "seed is -1: give 0 or"),
        ("train fourroom --device meta", "device 'meta' is not available here"),
        ("train fourroom --out file", "the output folder file is not empty"),
        ("train fourroom --out file/below", "cannot be created (Not a directory)"),
        (f"train fourroom --out {LONG}", "cannot be created (File name too long)"),
        (f"train fourroom --init-from {LONG}", "is not a run directory"),
        (f"train fourroom --init-from {LONG}@3", "is not a run directory"),
        (f"train {LONG}", "there is no task"),
        (f"resume {LONG}", "is not a run directory"),
        (f"eval {LONG}", "is not a run directory"),
        (f"report {LONG}", "is not a folder"),
        (f"check {LONG}", "there is no task"),
        (f"list runs {LONG}", "is not a folder"),
        (f"study {LONG}.toml", "cannot be read (File name too long)"),
        (f"study demo --out {LONG}", "cannot be created (File name too long)"),
        ("study folder.toml", "cannot be read (Is a directory)"),
        ("study broken.toml", "is not valid TOML"),
        ("study deep.toml", "cannot be read"),
        ("study digits.toml", "cannot be read"),
        ("study binary.toml", "is no text in UTF-8"),
        ("study demo --seeds 1e15", "a study has up to 100,000 runs"),
        ("study demo --seeds one", "'one' is no whole number"),
        ("train fourroom --out=--", "--out is '--', which is no value"),
        ("train --seed 3", "the task comes before its settings: rle train TASK --seed ..."),
        ("train --seed 3 forroom", "the task comes before its settings"),
        ("bench --seed 3 forroom", "the task comes before its settings"),
    ],
)
def test_refused(line: str, sentence: str, capsys: pytest.CaptureFixture[str]) -> None:
    complaint = said(line.split(), capsys)
    assert sentence in complaint
    assert "----" not in complaint
    assert Path("file").read_text() == "mine"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["train", ""], "there is no task ''"),
        (["train", "a\0b"], "there is no task"),
        (["train", "gym/a\0b:c"], "is no module's name"),
        (["train", "fourroom", "--out", "a\0b"], "cannot be created"),
        (["train", "fourroom", "--seed", ""], "--seed is '': give a whole number"),
        (["train", "fourroom", "--device", ""], "device '' is not available"),
        (["eval", "a\0b"], "is not a run directory"),
        (["report", "a\0b"], "is not a folder"),
        (["study", "a\0b.toml"], "cannot be read"),
        (["eval", "\udcff"], "is not a run directory"),
        (["train", "gym/CartPole-v1", "--env-kwargs", "[" * 100_000], "give an object of JSON"),
    ],
)
def test_signs_that_no_name_has(
    arguments: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert sentence in said(arguments, capsys)


@pytest.mark.parametrize(
    "line",
    [
        "train --seed 3 fourroom --num-envs x",
        "train --policy-hidden 8 8 fourroom --num-envs x",
        "train --seed=3 fourroom --num-envs x",
        "train --explore rnd --seed 3 fourroom --num-envs x",
        "check --seed 3 fourroom --num-envs x",
        "bench --seed 3 fourroom --num-envs x",
    ],
)
def test_a_setting_before_the_task(line: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The task is found: what is complained about is what comes after it."""
    assert "--num-envs is 'x': give a whole number." in said(line.split(), capsys)


def test_what_does_not_fit_the_memory() -> None:
    config = small_config("none", policy_hidden=(2**40, 2**20))
    with pytest.raises(UsageError, match="does not fit the memory"):
        trainer_of(config)
