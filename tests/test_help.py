"""Help: one page for each verb, every setting with a text and its default, at any width."""

from __future__ import annotations

import io
import subprocess
import sys
from dataclasses import dataclass

import pytest

from rle.cli import VERBS, main
from rle.completion import parser_of
from rle.declared import declared_settings, field_texts
from rle.help import COMMON
from rle.idle import APPLIES_WHEN, idle_settings
from rle.presets import preset_config
from rle.settings import paths_in_use, shortest_name
from rle.terminal import RED, styled


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def page(capsys: pytest.CaptureFixture, *arguments: str) -> str:
    assert main([*arguments, "--help"]) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize(
    ("task", "explore"),
    [
        ("fourroom", "rle"),
        ("atari/Alien", "rle+rnd"),
        ("control/Ant", "noisy"),
        ("gym/CartPole-v1", "white-noise"),
        ("fourroom", "tests.outsider.count_bonus:CountBonus"),
    ],
)
def test_every_setting_is_there_once(
    task: str, explore: str, capsys: pytest.CaptureFixture
) -> None:
    shown = page(capsys, "train", task, "--explore", explore)
    assert shown.count("usage:") == 1
    names = [line.split()[0] for line in shown.splitlines() if line.startswith("  --")]
    config = preset_config(task, explore)
    left_out = {name for name in idle_settings(config) if "." in name}
    expected = [
        f"--{shortest_name(path)}"
        for path in paths_in_use(config)
        if ".".join(path) not in left_out
    ]
    ours = [name for name in parser_of(VERBS["train"])._option_string_actions if name[:2] == "--"]
    assert {"--explore", "--preset", "--out"} <= set(ours)
    assert sorted([*names, "--help"]) == sorted([*expected, *ours])
    last = shown.rpartition("\n\n")[2]
    words = {word.strip(",.\n") for word in last.split()}
    for path in paths_in_use(config):
        assert (f"--{shortest_name(path)}" in words) == (".".join(path) in left_out), path


def test_every_setting_has_a_text() -> None:
    for explore in ("rle", "rnd", "noisy", "white-noise"):
        for setting in declared_settings(preset_config("fourroom", explore)):
            assert setting.text, setting.name


def test_what_is_most_used_is_a_setting() -> None:
    assert set(COMMON) <= set(APPLIES_WHEN)


@pytest.mark.parametrize(
    ("arguments", "entry"),
    [
        (["fourroom"], "--rle.coefficient X Weight of the bonus advantage; 0 leaves plain PPO "),
        (["fourroom"], "--seed N All random numbers of the run come from it (default: 0)"),
        (
            ["fourroom"],
            "--policy-hidden N... Vectors only: the policy's hidden layers (default: 64 ",
        ),
        (["fourroom"], "environment's own limit (default: 1000)"),
        (["atari/Alien", "--preset", "desktop"], "(default: auto)"),
        (["atari/Alien"], "warm-up included (default: 40_000_000)"),
        (["fourroom", "--explore", "tests.outsider.count_bonus:CountBonus"], "--count.coefficient"),
    ],
)
def test_entries(arguments: list[str], entry: str, capsys: pytest.CaptureFixture) -> None:
    shown = " ".join(page(capsys, "train", *arguments).split())
    assert entry in shown


@pytest.mark.parametrize("width", [60, 80, 120])
def test_lines_fit_the_terminal(
    width: int, capsys: pytest.CaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    lines = page(capsys, "train", "fourroom").splitlines()
    assert max(map(len, lines)) < width
    assert max(map(len, lines)) > min(width, 110) - 12


@pytest.mark.parametrize("verb", VERBS)
def test_verbs_have_pages_alike(verb: str, capsys: pytest.CaptureFixture) -> None:
    try:
        status = main([verb, "--help"])
    except SystemExit as stop:
        status = stop.code  # type: ignore[assignment]
    assert not status
    shown = capsys.readouterr().out
    assert shown.startswith(f"usage: rle {verb} ")
    assert "\nArguments\n" in shown
    for line in shown.partition("\nArguments\n")[2].splitlines():
        # A name stands alone only if it is long: its text is below.
        assert len(line.split()) > 1 or len(line) > 20 or not line


def test_help_of_a_wrong_name_is_a_sentence(capsys: pytest.CaptureFixture) -> None:
    assert main(["train", "fourrom", "--help"]) == 2
    assert "did you mean 'fourroom'?" in capsys.readouterr().err


@pytest.mark.parametrize("task", ["fourroom", "gym/CartPole-v1", "atari/Alien"])
def test_help_does_not_wait_for_pytorch(task: str) -> None:
    arguments = ["train", task, "--help"]
    check = (
        f"import sys; from rle.cli import main; main({arguments}); print('torch' in sys.modules)"
    )
    found = subprocess.run(
        [sys.executable, "-c", check], capture_output=True, text=True, check=True
    )
    assert found.stdout.splitlines()[-1] == "False"
    assert "\033" not in found.stdout


def test_python_dash_m() -> None:
    found = subprocess.run(
        [sys.executable, "-m", "rle", "eval", "--help"], capture_output=True, text=True, check=True
    )
    assert found.stdout.startswith("usage: rle eval RUN")


def test_the_reader_may_stop_reading() -> None:
    command = f"{sys.executable} -m rle list studies | head -1"
    found = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=True)
    assert found.stdout.count("\n") == 1
    assert found.stderr == ""


def test_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a terminal only, and not where NO_COLOR is set to anything."""
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    assert styled("rle:", RED, Terminal()) == "\033[1;31mrle:\033[0m"
    assert styled("rle:", RED, io.StringIO()) == "rle:"
    monkeypatch.setenv("NO_COLOR", "")
    assert styled("rle:", RED, Terminal()) == "\033[1;31mrle:\033[0m"
    monkeypatch.setenv("NO_COLOR", "1")
    assert styled("rle:", RED, Terminal()) == "rle:"
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setenv("TERM", "dumb")
    assert styled("rle:", RED, Terminal()) == "rle:"


@pytest.mark.parametrize(
    "command", [["--help"], ["train", "fourroom", "--help"], ["train", "fourroom", "--seed", "x"]]
)
@pytest.mark.parametrize("no_color", ["", "1"])
def test_colours_of_the_command(
    command: list[str], no_color: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, err = Terminal(), Terminal()
    monkeypatch.setenv("NO_COLOR", no_color)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys, "stdout", out)
    monkeypatch.setattr(sys, "stderr", err)
    main(command)
    text = out.getvalue() + err.getvalue()
    assert ("\033[" in text) == (not no_color)
    if "x" in command:
        # tyro colours its complaint, which is not what is said.
        assert text.endswith(" --seed is 'x': give a whole number.\n")


def test_texts_of_inherited_fields() -> None:
    @dataclass
    class Base:
        first: int = 1
        """The first,
        in two lines."""
        second: int = 2

    @dataclass
    class Derived(Base):
        second: int = 3
        """The second."""

    assert field_texts(Derived) == {"first": "The first, in two lines.", "second": "The second."}
    assert field_texts(type("Unwritten", (), {})) == {}
