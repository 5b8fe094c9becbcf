"""The page about what users bring, followed to the letter: its files written, its commands typed."""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path

import pytest

from rle.cli import main

PAGE = Path(__file__).parents[2] / "docs" / "your-own.md"
BLOCKS = re.findall(r"```(\w+)\n(.*?)```", PAGE.read_text(), re.DOTALL)
FILES = {
    found[1]: code for _, code in BLOCKS if (found := re.match(r"# (\w+\.(?:py|toml))\n", code))
}
COMMANDS = [
    shlex.split(line, comments=True)[1:]
    for language, code in BLOCKS
    if language == "sh"
    for line in code.splitlines()
]
SMALLER = {
    "train": ["--total-steps=256", "--num-envs=4", "--rollout-steps=32", "--compile=off"],
    "study": ["--total-steps=8192", "--seeds=1", "--workers=1"],
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.chdir(tmp_path)
    for name, code in FILES.items():
        (tmp_path / name).write_text(code)
        sys.modules.pop(name.removesuffix(".py"), None)
    return tmp_path


def test_every_command_of_the_page_works(folder: Path, capsys: pytest.CaptureFixture) -> None:
    assert sorted(FILES) == ["coins.py", "many.py", "mazes.py", "mine.toml", "my_studies.py"]
    verbs = [command[0] for command in COMMANDS]
    assert verbs == [*["train"] * 4, "resume", "eval", *["study"] * 2, "report"]
    for verb, *arguments in COMMANDS:
        status = main([verb, *arguments, *SMALLER.get(verb, [])])
        shown = capsys.readouterr()
        assert (status, shown.err) == (0, ""), (verb, arguments)
        if "my_studies:MINE" in arguments:
            assert "2 runs finished in runs/mine; 0 steps" in shown.out
    assert (folder / "runs" / "mine" / "report" / "report.html").exists()


@pytest.mark.usefixtures("folder")
def test_the_python_of_the_page_works() -> None:
    (code,) = [code for _, code in BLOCKS if "rle.train(make" in code]
    # As a program of its own, where nothing has a name that another program could import.
    names: dict[str, object] = {"__name__": "__main__"}
    exec(code, names)
    assert names["run"].config().task == "gym/<make>"  # type: ignore[attr-defined]
