"""Completion: what is offered at each place of a command, and each shell's script for real."""

from __future__ import annotations

import os
import pty
import select
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from rle.cli import VERBS, main
from rle.completion import SINKS, answer, parser_of
from rle.completion_scripts import FILES, SCRIPTS
from rle.presets import preset_config
from rle.settings import paths_in_use, shortest_name
from rle.studies import STUDIES


def offered(line: str) -> list[str]:
    """What the last word of a command line, after `rle`, may become."""
    return [line.partition("\t")[0] for line in answer(line.split(" "), VERBS).splitlines()]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("", [*VERBS, "--help", "--version", "--completion"]),
        ("re", ["resume", "report"]),
        ("trian ", []),
        ("--completion ", ["bash", "zsh", "fish"]),
        ("list ", ["tasks", "strategies", "studies", "runs"]),
        ("list stu", ["studies"]),
        ("train f", ["fourroom", "fourroom-sparse", "fourroom-noisytv"]),
        ("train a", ["atari/"]),
        ("train atari/Al", ["atari/Alien"]),
        ("train gym/rle/Ball", ["gym/rle/BallBalance-v0"]),
        ("train nothing/", []),
        ("train fourroom --explore r", ["rle", "rnd", "random"]),
        ("train fourroom --explore rle+r", ["rle+rnd"]),
        ("train fourroom --preset ", ["paper", "released", "desktop"]),
        ("train control/Ant --preset d", ["desktop"]),
        ("train fourroom --expl", ["--explore"]),
        ("train fourroom --rle.dim", ["--rle.dimension"]),
        ("train fourroom --explore none --rle.dim", []),
        ("train fourroom --explore=rnd --rnd.out", ["--rnd.outputs"]),
        ("train fourroom --compile o", ["on", "off"]),
        ("train fourroom --compile=o", ["--compile=on", "--compile=off"]),
        ("train fourroom --seed 3 --compile a", ["auto"]),
        ("train fourroom --scale-reward ", ["True", "False"]),
        ("train fourroom --time-limit N", ["None"]),
        ("train fourroom --rle.distribution s", ["sphere"]),
        ("train fourroom --device c", ["cpu", "cuda"]),
        ("train fourroom --sinks tensorboard w", ["wandb"]),
        ("train fourroom --out ", [FILES]),
        ("bench fourroom --learning-r", ["--learning-rate"]),
        ("check f", ["fourroom", "fourroom-sparse", "fourroom-noisytv"]),
        ("check runs/", [FILES]),
        ("check fourroom --rle.dim", ["--rle.dimension"]),
        ("study demo --methods rle p", ["ppo"]),
        ("study atari-mini --tasks atari/B", ["atari/Boxing", "atari/Breakout"]),
        ("study mine.t", [FILES]),
        ("resume runs/", [FILES]),
        ("report runs/a ", [FILES]),
        ("study demo --out r", [FILES]),
        ("report --intervals p", ["percentile"]),
        ("eval runs/a --gr", ["--greedy"]),
    ],
)
def test_what_is_offered(line: str, expected: list[str]) -> None:
    assert offered(line) == expected


def test_every_study_and_every_setting_is_offered() -> None:
    assert offered("study ") == list(STUDIES)
    settings = {f"--{shortest_name(p)}" for p in paths_in_use(preset_config("fourroom", "rle"))}
    ours = {name for name in parser_of(VERBS["train"])._option_string_actions if name[:2] == "--"}
    assert set(offered("train fourroom --")) == settings | ours


def test_the_sinks_that_are_offered_are_those_there_are() -> None:
    from rle.runs.sinks import _OURS

    assert list(SINKS) == list(_OURS)


def test_strategies_of_the_users_own() -> None:
    own = "train fourroom --explore tests.outsider.count_bonus:CountBonus"
    assert offered(f"{own} --count.coef") == ["--count.coefficient"]


def test_suites_of_the_users_own() -> None:
    names = offered("train tests.outsider.corridor_suite:SUITE/")
    assert names
    assert all(name.startswith("tests.outsider.corridor_suite:SUITE/") for name in names)


@pytest.mark.parametrize("line", ["train four", "train fourroom --rle.", "study ", "train gym/Ca"])
def test_answers_do_not_wait_for_pytorch(line: str) -> None:
    words = ["__complete", *line.split(" ")]
    check = f"import sys; from rle.cli import main; main({words!r}); print('torch' in sys.modules)"
    found = subprocess.run(
        [sys.executable, "-c", check], capture_output=True, text=True, check=True
    )
    *offers, imported = found.stdout.splitlines()
    assert offers
    assert imported == "False"


def test_an_unknown_shell(capsys: pytest.CaptureFixture) -> None:
    assert main(["--completion", "fsh"]) == 2
    assert "did you mean 'fish'?" in capsys.readouterr().err
    assert main(["--completion"]) == 2
    assert "bash, zsh, fish" in capsys.readouterr().err


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A folder with the command `rle`, the scripts, and a run."""
    (tmp_path / "rle").write_text(f'#!/bin/sh\nexec {sys.executable} -m rle "$@"\n')
    (tmp_path / "rle").chmod(0o755)
    for shell, script in SCRIPTS.items():
        (tmp_path / f"rle.{shell}").write_text(script)
    (tmp_path / "runs" / "one").mkdir(parents=True)
    return tmp_path


def environment(home: Path) -> dict[str, str]:
    return {
        **os.environ,
        "PATH": f"{home}:{os.environ['PATH']}",
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
        "HOME": str(home),
        "TERM": "dumb",
    }


def typed(shell: list[str], home: Path, first: str, keys: str, expected: str) -> str:
    """What a shell shows after `first` is run in it and `keys` are typed, until `expected` is there."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(home)
        os.execvpe(shell[0], shell, environment(home))
    shown = ""
    deadline = time.monotonic() + 60
    os.write(terminal, f"{first}; echo rea''dy\n".encode())
    while expected not in shown and time.monotonic() < deadline:
        if select.select([terminal], [], [], 0.2)[0]:
            shown += os.read(terminal, 4096).decode(errors="replace")
        if "ready\r" in shown and keys:
            os.write(terminal, keys.encode())
            keys, shown = "", ""
    os.close(terminal)
    os.waitpid(pid, 0)
    return shown


COMMANDS = [
    ("rle train atari/Al\t", "rle train atari/Alien "),
    ("rle train fourroom --compile=of\t", "--compile=off"),
    ("rle eval runs/o\t", "runs/one/"),
    ("rle study fourroom-sp\t", "fourroom-sparse"),
]
SHELLS = {
    "bash": (["bash", "--norc", "-i"], "source rle.bash"),
    "zsh": (["zsh", "-f", "-i"], "autoload -U compinit; compinit -u -D; source rle.zsh"),
}


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize(("keys", "expected"), COMMANDS)
def test_the_tab_key(shell: str, keys: str, expected: str, home: Path) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"there is no {shell} here")
    command, first = SHELLS[shell]
    assert expected in typed(command, home, first, keys, expected)


def test_bash_begins_a_new_word_at_a_colon(home: Path) -> None:
    """What is offered there is what stands after it."""
    line = "rle train tests.outsider.corridor_suite:SUITE/"
    check = (
        "source rle.bash; COMP_WORDBREAKS=$' \\t\\n=:'; "
        f"COMP_LINE='{line}'; COMP_POINT=${{#COMP_LINE}}; _rle rle; echo ${{COMPREPLY[@]}}"
    )
    found = subprocess.run(
        ["bash", "--norc", "-c", check],
        cwd=home,
        env=environment(home) | {"PYTHONPATH": os.pathsep.join([*filter(None, sys.path), "."])},
        capture_output=True,
        text=True,
        check=True,
    )
    assert found.stdout.split()
    assert all(word.startswith("SUITE/") for word in found.stdout.split())


@pytest.mark.skipif(shutil.which("fish") is None, reason="there is no fish here")
def test_fish(home: Path) -> None:
    def completed(line: str) -> list[str]:
        found = subprocess.run(
            ["fish", "--no-config", "-c", f"source rle.fish; complete -C '{line}'"],
            cwd=home,
            env=environment(home),
            capture_output=True,
            text=True,
            check=True,
        )
        return [line.partition("\t")[0] for line in found.stdout.splitlines()]

    assert completed("rle train atari/Al") == ["atari/Alien"]
    assert completed("rle train fourroom --rle.dim") == ["--rle.dimension"]
    assert completed("rle eval runs/o") == ["runs/one/"]
