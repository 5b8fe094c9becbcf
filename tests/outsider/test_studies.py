"""Studies of the user's: in a file, in a module, as an object, in an installed package."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import rle
from rle.cli import main
from rle.errors import UsageError
from rle.modules import installed
from rle.studies import Method, Study, find_study, study_names

HERE = Path(__file__).parent
FILE = """
name = "my: study"
description = "how large z should be"
tasks = ["corridor_suite:SUITE/short"]
seeds = 1
total_steps = 128

[[methods]]
name = "rle d=8"
explore = "rle"
settings = { "rle.dimension" = 8, num_envs = 4, rollout_steps = 16, compile = "off" }

[[methods]]
name = "ppo"
explore = "none"
settings = { num_envs = 4, rollout_steps = 16, compile = "off" }
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder a user starts from, with a suite and a study of their own in it."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.chdir(tmp_path)
    sys.modules.pop("corridor_suite", None)
    shutil.copy(HERE / "corridor_suite.py", tmp_path)
    (tmp_path / "mine.toml").write_text(FILE)
    return tmp_path


def test_a_file_is_trained_reported_and_not_trained_again(
    folder: Path, capsys: pytest.CaptureFixture
) -> None:
    assert main(["study", "mine.toml", "--workers", "1"]) == 0
    assert "2 runs finished in runs/my-study; 256 steps" in capsys.readouterr().out
    task = folder / "runs" / "my-study" / "corridor_suite-SUITE-short"
    assert {path.name for path in task.iterdir()} == {"rle-d=8", "ppo"}
    assert main(["report", "runs"]) == 0
    assert (folder / "runs" / "report" / "report.html").exists()
    capsys.readouterr()
    assert main(["study", "mine.toml"]) == 0
    assert "2 runs finished in runs/my-study; 0 steps" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("seeds = 1", "seed = 1", "mine.toml has an unknown key 'seed': did you mean 'seeds'?"),
        ("seeds = 1", "", "mine.toml has no seeds: give a whole number."),
        ("seeds = 1", "seeds = 0", "mine.toml, seeds is 0: give a number above 0."),
        ("seeds = 1", "seeds = 1.5", "mine.toml, seeds is 1.5: give a whole number."),
        ("seeds = 1", "seeds = true", "mine.toml, seeds is True: give a whole number."),
        ("seeds = 1", "seeds == 1", "mine.toml is not valid TOML: "),
        ("seeds = 1", "seeds == 1", "line 5"),
        ("seeds = 1", 'seeds = 1\npreset = "papr"', "mine.toml, preset: preset is 'papr': did you"),
        ("total_steps = 128", "total_steps = 0", "mine.toml, total_steps: total-steps is 0"),
        ('["corridor_suite:SUITE/short"]', "[]", "mine.toml, tasks is empty"),
        ('["corridor_suite:SUITE/short"]', "[3]", "mine.toml, tasks, number 1 is 3: give a text."),
        (
            '["corridor_suite:SUITE/short"]',
            '"fourroom"',
            "tasks is 'fourroom': give a list of texts",
        ),
        (
            "SUITE/short",
            "SUITE/shrt",
            "mine.toml, tasks, number 1: corridor_suite:SUITE has no task",
        ),
        ("rle d=8", "ppo", "mine.toml: study 'my: study' has the method 'ppo' twice"),
        ('explore = "none"', 'explore = "ppo"', "number 2, explore: there is no strategy 'ppo'"),
        (
            'explore = "none"',
            'explor = "none"',
            "number 2 has an unknown key 'explor': did you mean",
        ),
        ('name = "ppo"', "", "mine.toml, methods, number 2 has no name: give a text."),
        (
            "rle.dimension",
            "rle.dimensoin",
            "'rle d=8', settings: there is no setting 'rle.dimensoin'",
        ),
        ("rle.dimension", "rle.dimensoin", "did you mean 'rle.dimension'?"),
        (
            '"rle.dimension" = 8',
            '"rle.dimension" = "8"',
            "rle.dimension is '8': give a whole number.",
        ),
        ("num_envs = 4,", "seed = 4,", "has the setting 'seed', which is the study's to choose"),
    ],
)
def test_every_mistake_is_one_sentence_with_file_and_key(
    old: str, new: str, sentence: str, folder: Path, capsys: pytest.CaptureFixture
) -> None:
    assert old in FILE
    (folder / "mine.toml").write_text(FILE.replace(old, new))
    assert main(["study", "mine.toml"]) == 2
    error = capsys.readouterr().err
    assert sentence in error
    assert error.count("\n") == 1
    assert not (folder / "runs").exists()


def test_a_file_that_is_not_there(capsys: pytest.CaptureFixture) -> None:
    assert main(["study", "nobodys.toml"]) == 2
    assert "the file nobodys.toml cannot be read (No such file" in capsys.readouterr().err


MODULE = """
from rle.studies import Method, Study

MINE = Study("mine", "of a module", ("fourroom",), (Method("rle", "rle"),), 3, 1000)
LOST = Study("lost", "on no task", ("no_such:SUITE/task",), (Method("rle", "rle"),), 3, 1000)
"""


def test_a_study_of_a_module(folder: Path, capsys: pytest.CaptureFixture) -> None:
    (folder / "my_studies.py").write_text(MODULE)
    assert main(["study", "my_studies:MINE", "--workers", "0"]) == 2
    assert "workers is 0" in capsys.readouterr().err
    assert find_study("my_studies:MINE").num_runs == 3
    assert main(["study", "my_studies:MIN"]) == 2
    assert "my_studies has no 'MIN': did you mean 'MINE'?" in capsys.readouterr().err
    assert main(["study", "my_studies:Method"]) == 2
    assert "make it a Study" in capsys.readouterr().err


def test_a_study_as_an_object(tmp_path: Path) -> None:
    settings = {"num_envs": 4, "rollout_steps": 16, "compile": "off", "time_limit": 9}
    mine = Study("mine", "", ("fourroom",), (Method("a:b", "none", settings),), 1, 64)
    result = rle.study(mine, out=tmp_path, workers=1, quiet=True)
    assert result.finished == ("fourroom/a-b/seed-0",)
    with pytest.raises(UsageError, match="twice, or two whose folders"):
        Study("mine", "", ("fourroom",), (Method("a:b", "none"), Method("a-b", "rle")), 1, 64)


@pytest.fixture
def package(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """An installed package with a study, and one that is broken."""
    (folder / "packaged_studies.py").write_text(MODULE)
    # Not in the working folder itself: nothing in it is installed.
    described = folder / "site" / "strange-1.0.dist-info"
    described.mkdir(parents=True)
    (described / "METADATA").write_text("Metadata-Version: 2.1\nName: strange\nVersion: 1.0\n")
    (described / "entry_points.txt").write_text(
        "[rle.studies]\ntheirs = packaged_studies:MINE\nbroken = packaged_studies:NOTHING\n"
        "lost = packaged_studies:LOST\ndemo = packaged_studies:MINE\n"
    )
    monkeypatch.syspath_prepend(folder)
    monkeypatch.syspath_prepend(folder / "site")
    installed.cache_clear()
    yield
    installed.cache_clear()


@pytest.mark.usefixtures("package")
def test_installed_packages_bring_studies() -> None:
    with pytest.warns(UserWarning, match="left out: ") as caught:
        names = study_names()
    broken, lost = (str(warning.message) for warning in caught)
    assert "'broken' is brought by" in broken
    assert "'lost'" in lost
    assert "no module 'no_such'" in lost
    assert names["demo"].startswith("all four strategies")
    assert names["theirs"].startswith("of a module (3 runs of 1,000 steps")
    assert not {"broken", "lost"} & set(names)
    assert find_study("theirs").name == "theirs"
    with pytest.raises(UsageError, match="has no 'NOTHING'"):
        find_study("broken")
