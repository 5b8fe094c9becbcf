"""The quick start, followed to the letter: its files written and its commands typed."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import rle
from rle.modules import search_working_folder
from rle.presets import preset_config
from rle.runs.directory import CONFIG
from rle.runs.trainer import Trainer
from rle.settings import replace
from rle.studies.running import run_all
from tests.builders import small_config
from tests.probes.environments import ConstantReward

PAGE = Path(__file__).parent.parent / "docs" / "quick-start.md"
BLOCKS = re.findall(r"```(\w+)\n(.*?)```", PAGE.read_text(), re.DOTALL)
FILES = {
    found[1]: code
    for language, code in BLOCKS
    if language == "python" and (found := re.match(r"# (\w+\.py)\n", code))
}
COMMANDS = [
    line.partition("#")[0].split()
    for language, code in BLOCKS
    if language == "sh"
    for line in code.splitlines()
    if line.startswith("rle ")
]
SMALLER = {
    "train": ["--total-steps=256", "--num-envs=4", "--rollout-steps=32", "--compile=off"],
    "eval": ["--episodes", "2"],
}
FEWER = {"2000000": "512"}
"""Steps to which a run goes on."""


def rle_command(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """The installed command itself: unlike `python -m`, it does not look into the working folder."""
    command = shutil.which("rle", path=str(Path(sys.executable).parent))
    assert command is not None
    # The sources that are being tested, wherever the installed command would find others.
    environment = {**os.environ, "PYTHONPATH": str(Path(rle.__file__).parent.parent)}
    return subprocess.run(
        [command, *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, code in FILES.items():
        (tmp_path / name).write_text(code)
    return tmp_path


def test_every_command_of_the_page_works(folder: Path) -> None:
    assert sorted(FILES) == ["mine.py", "mymaze.py"]
    verbs = [command[1] for command in COMMANDS]
    assert verbs == ["train", "train", "resume", "eval", "report", "resume", "train"]
    for _, verb, *arguments in COMMANDS:
        arguments = [FEWER.get(argument, argument) for argument in arguments]
        result = rle_command(folder, verb, *arguments, *SMALLER.get(verb, []))
        assert (result.returncode, result.stderr) == (0, ""), (verb, arguments)
    assert (folder / "runs" / "report" / "report.html").exists()


def test_a_module_that_is_not_there_names_the_folder(folder: Path) -> None:
    elsewhere = folder / "elsewhere"
    elsewhere.mkdir()
    for arguments in (
        ["train", "gym/mymaze:MyMaze-v0"],
        ["train", "fourroom", "--rle.distribution", "mine:corners"],
    ):
        result = rle_command(elsewhere, *arguments)
        assert result.returncode == 2
        assert f"in {elsewhere} " in result.stderr
        assert result.stderr.count("\n") == 1


def test_the_processes_of_a_study_look_there_too(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.chdir(folder)
    search_working_folder()
    config = small_config("rle", rle__distribution="mine:corners", total_steps=128)
    result = run_all({"run": config}, folder / "study", workers=1, quiet=True)
    assert result.finished == ("run",)
    assert (folder / "study" / "run" / CONFIG).exists()


def test_a_task_of_tensors(monkeypatch: pytest.MonkeyPatch) -> None:
    """The loop around a task of one's own, for an iteration."""
    (code,) = [code for language, code in BLOCKS if "MyTask" in code]
    small = {"minibatches": 1, "total_steps": 1, "compile": "off"}
    monkeypatch.setattr(
        "rle.presets.preset_config", lambda *names: replace(preset_config(*names), small)
    )
    names = {"MyTask": ConstantReward}
    exec(code, names)
    trainer = names["trainer"]
    assert isinstance(trainer, Trainer)
    assert trainer.done
