"""A report refreshes a report, and overwrites nothing else."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rle.cli import main
from rle.errors import UsageError
from rle.report.build import report
from rle.report.write.folder import holds_a_report, require_ours
from tests.report.folders import write_run


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    write_run(tmp_path / "runs" / "cartpole", task="gym/CartPole-v1", scores=(1.0, 2.0))
    return tmp_path / "runs"


def test_a_report_is_made_anew_in_its_folder(runs: Path, tmp_path: Path) -> None:
    out = tmp_path / "report"
    report([runs], out)
    assert holds_a_report(out)
    names = sorted(path for path in out.rglob("*") if path.is_file())
    for path in names[1:]:
        if path.name != "summary.json":
            path.write_bytes(b"old")
    (out / "notes.txt").write_text("mine")
    report([runs], out)
    assert all(path.read_bytes() != b"old" for path in names)
    assert sorted(path for path in out.rglob("*") if path.is_file()) == sorted(
        [*names, out / "notes.txt"]
    )
    assert (out / "notes.txt").read_text() == "mine"


@pytest.mark.parametrize("name", ["report.html", "summary.json"])
def test_files_of_somebody_else_are_left_alone(
    name: str, runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "mine"
    out.mkdir()
    (out / name).write_text('{"mine": true}')
    assert main(["report", str(runs), "--out", str(out)]) == 2
    error = capsys.readouterr().err
    assert f"{out / name} is not of a report and would be overwritten: choose another" in error
    assert [path.name for path in out.iterdir()] == [name]
    assert (out / name).read_text() == '{"mine": true}'


def test_a_figure_of_somebody_else_too(runs: Path, tmp_path: Path) -> None:
    """Its name is known once the figures are drawn; nothing is written before."""
    report([runs], tmp_path / "first")
    (figure, *_) = sorted((tmp_path / "first" / "figures").iterdir())
    out = tmp_path / "mine"
    (out / "figures").mkdir(parents=True)
    (out / "figures" / "harmless.png").write_bytes(b"mine")
    (out / "figures" / figure.name).write_bytes(b"mine")
    with pytest.raises(UsageError, match=f"{figure.name} is not of a report"):
        report([runs], out)
    files = [path for path in out.rglob("*") if path.is_file()]
    assert len(files) == 2
    assert all(path.read_bytes() == b"mine" for path in files)
    # Beside files that are not in the way, a report is welcome.
    (out / "figures" / figure.name).unlink()
    report([runs], out)
    assert (out / "figures" / "harmless.png").read_bytes() == b"mine"


@pytest.mark.parametrize("text", ["", "[]", '{"made": {}}'])
def test_what_is_no_summary(text: str, tmp_path: Path) -> None:
    (tmp_path / "summary.json").write_text(text)
    assert not holds_a_report(tmp_path)
    with pytest.raises(UsageError, match="would be overwritten"):
        require_ours(tmp_path, ["summary.json"])
    require_ours(tmp_path, ["report.html"])
    (tmp_path / "summary.json").write_text(json.dumps({"made": {}, "tasks": {}}))
    require_ours(tmp_path, ["summary.json"])
