"""Studies on Ray: the same runs, bit for bit, and one sentence where there is no Ray."""

import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from rle.cli import main
from rle.studies import study_status
from rle.studies.on_ray import room_for
from tests.studies.test_parts import FOLDERS, STUDY

FILES = ("metrics.jsonl", "episodes.jsonl", "config.json")


def test_no_run_is_spread_over_two_machines() -> None:
    nodes = [{"CPU": 5.0, "GPU": 1.0}, {"CPU": 3.0}, {"memory": 1.0}]
    assert room_for(nodes, 2, 0) == 2 + 1
    assert room_for(nodes, 2, 0.25) == min(2, 4)
    assert room_for(nodes, 0.5, 0.5) == min(10, 2)
    assert room_for(nodes, 6, 0) == 0


def test_no_ray(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    assert main(["study", "demo", "--ray", "local", "--out", str(tmp_path / "out")]) == 2
    assert capsys.readouterr().err == (
        "rle: --ray needs Ray, which is not installed: pip install 'random-latent-exploration[ray]'.\n"
    )


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--ray", "local", "--workers", "2"], "leave them out with --ray"),
        (["--cpus-per-run", "2"], "are for --ray"),
        (["--gpus-per-run", "0.5"], "are for --ray"),
        (["--ray", "local", "--cpus-per-run", "0"], "cpus-per-run is 0.0"),
        (["--ray", "local", "--gpus-per-run", "-1"], "gpus-per-run is -1.0"),
        (["--ray", "local", "--cpus-per-run", "1.5"], "cpus-per-run is 1.5: above 1, give a whole"),
    ],
)
def test_options_that_do_not_go_together(
    options: list[str], sentence: str, tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    assert main(["study", "demo", "--out", str(tmp_path), *options]) == 2
    said = capsys.readouterr().err
    assert sentence in said
    assert said.count("\n") == 1


def command(folder: Path, out: str, *options: str) -> subprocess.CompletedProcess[str]:
    (folder / "parts.toml").write_text(STUDY)
    line = ["study", "parts.toml", "--out", out, *options]
    return subprocess.run(
        [sys.executable, "-m", "rle", *line],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
    )


def without_seconds(path: Path) -> list[str]:
    return [line.partition('"seconds"')[0] for line in path.read_text().splitlines()]


@pytest.mark.slow
def test_the_same_bits_as_in_local_processes(tmp_path: Path) -> None:
    pytest.importorskip("ray", reason="the extra `ray` is not installed")
    here = command(tmp_path, "here", "--workers", "1")
    assert here.returncode == 0, here.stderr
    there = command(tmp_path, "there", "--ray", "local")
    assert there.returncode == 0, there.stderr
    assert "3 runs finished in there; 192 steps" in there.stdout
    assert study_status(tmp_path / "there").counts["done"] == 3
    for folder in FOLDERS:
        checkpoints = sorted((tmp_path / "here" / folder / "checkpoints").iterdir())
        assert checkpoints
        for one in checkpoints:
            other = tmp_path / "there" / folder / "checkpoints" / one.name
            assert one.read_bytes() == other.read_bytes()
        for name in FILES:
            one, other = (tmp_path / out / folder / name for out in ("here", "there"))
            assert without_seconds(one) == without_seconds(other)
    # What Ray has trained, processes find done.
    again = command(tmp_path, "there", "--workers", "1")
    assert "; 0 steps in" in again.stdout


def test_an_address_that_leads_nowhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    monkeypatch.setitem(sys.modules, "ray", ModuleType("ray"))  # which is not asked
    assert main(["study", "demo", "--ray", "127.0.0.1:1", "--out", str(tmp_path / "out")]) == 2
    assert capsys.readouterr().err == (
        "rle: there is no Ray cluster at '127.0.0.1:1' ([Errno 111] Connection refused): give the "
        "address that `ray start --head` printed, or local.\n"
    )
