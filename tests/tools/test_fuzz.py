"""Some hundred fuzzed command lines; `python -m tools.fuzz_command_line` tries ten thousand."""

import pytest

from rle import cli
from tools import fuzz_command_line


def test_every_line_ends_in_a_sentence() -> None:
    assert fuzz_command_line.main(lines=300, seed=0) == []


def test_tracebacks_and_silence_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(arguments: object) -> None:
        raise KeyError("lost")

    monkeypatch.setattr(cli, "VERBS", {**cli.VERBS, "train": broken})
    failures = fuzz_command_line.main(lines=20, seed=0)
    assert failures
    assert all("KeyError: 'lost'" in failure.what for failure in failures)
    assert fuzz_command_line._wrong(2, "", "") is not None
    assert fuzz_command_line._wrong(2, "", "rle: one sentence of it.\nand another") is not None
    assert fuzz_command_line._wrong(3, "", "") is not None
    assert fuzz_command_line._wrong(2, "", "warning: x\nrle: one sentence of it.\n") is None
