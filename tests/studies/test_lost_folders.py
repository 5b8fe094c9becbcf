"""Folders of studies that are gone, not seen everywhere, or another version's: one sentence."""

import json
import shutil
import threading
from pathlib import Path
from types import SimpleNamespace

import pytest

from rle.cli import main
from rle.errors import RunError
from rle.machine import SHARE
from rle.runs.directory import CONFIG, RunDirectory
from rle.studies.folder import RECORD, last_words
from rle.studies.on_ray import RayExecutor
from rle.studies.resources import Resources
from rle.studies.worker import work
from tests.builders import small_config
from tests.runs.test_stopping import wait_for
from tests.studies.test_parts import FOLDERS, STUDY

LONG = STUDY.replace("total_steps = 64", "total_steps = 64_000_000")


def command(folder: Path, text: str = STUDY) -> list[str]:
    (folder / "parts.toml").write_text(text)
    line = ["study", str(folder / "parts.toml"), "--seeds", "1", "--workers", "1"]
    return [*line, "--out", str(folder / "out")]


def test_a_folder_that_is_gone(tmp_path: Path, capfd: pytest.CaptureFixture) -> None:
    out = tmp_path / "out"

    def lose() -> None:
        wait_for(lambda: list(out.glob(f"{FOLDERS[0]}/checkpoints/*.safetensors")))
        out.rename(tmp_path / "lost")

    loser = threading.Thread(target=lose)
    loser.start()
    assert main(command(tmp_path, LONG)) == 1
    loser.join()
    assert capfd.readouterr().err.endswith(
        f"rle: {out} is gone, or has no {RECORD} any more, while its runs are trained: bring it back "
        "and start the study again to go on.\n"
    )
    # Brought back, it is as it was, and can be gone on with.
    shutil.rmtree(out, ignore_errors=True)
    assert RunDirectory.open(tmp_path / "lost" / FOLDERS[0]).checkpoint_steps()


def test_a_newer_study(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / RECORD).write_text(json.dumps({"schema": 2, "runs": {}}))
    assert main(command(tmp_path)) == 2
    assert capsys.readouterr().err == (
        f"rle: {tmp_path / 'out' / RECORD} has the schema 2, and this version of the program knows 1: "
        "use the version that wrote it.\n"
    )


def test_a_run_of_a_newer_version(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    run = tmp_path / "out" / FOLDERS[0]
    run.mkdir(parents=True)
    (run / CONFIG).write_text('{"schema": 99}')
    assert main(command(tmp_path)) == 2
    assert capsys.readouterr().err == (
        f"rle: {run} was written by a newer version of the program (schema 99, and this one knows 1): "
        "update `random-latent-exploration`.\n"
    )


def test_a_machine_that_does_not_see_the_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It makes none of its own, in which the run would begin anew."""
    monkeypatch.setenv(SHARE, "1")
    run = tmp_path / "shared" / "task" / "seed-0"
    sentence = work(small_config("none"), run, 1)
    assert sentence is not None
    assert sentence.startswith(f"{run}-log.txt cannot be written on ")
    assert sentence.endswith("let every machine see the study's folder under the same path.")
    assert not list(tmp_path.iterdir())


class DeadNodeError(Exception):
    """As Ray's, whose first line says what happened."""


def ray_with(result: str | Exception | None) -> SimpleNamespace:
    """A Ray that is done with every run at once."""

    def get(_: object) -> str | None:
        if isinstance(result, Exception):
            raise result
        return result

    return SimpleNamespace(
        remote=lambda **_: lambda _: SimpleNamespace(remote=lambda *_: "result"),
        nodes=lambda: [{"Alive": True, "Resources": {"CPU": 1.0}}],
        wait=lambda running, **_: (running, []),
        get=get,
        exceptions=SimpleNamespace(RayError=DeadNodeError),
    )


def test_what_ray_says_of_a_run_that_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def ended(result: str | Exception | None) -> list[tuple[str, bool]]:
        monkeypatch.setattr("rle.studies.on_ray._connected", lambda _: ray_with(result))
        executor = RayExecutor("local", Resources(1), work)
        executor.submit("run", small_config("none"), tmp_path / "run")
        return executor.wait(0.0)

    assert ended(None) == [("run", False)]
    assert last_words(tmp_path / "run") == []
    assert ended(DeadNodeError("the node died\nat noon")) == [("run", True)]
    assert last_words(tmp_path / "run") == ["rle: Ray ended it (the node died)."]
    # Every run that such a machine is given would fail, and quickly.
    with pytest.raises(RunError, match="not seen"):
        ended("the folder is not seen")
