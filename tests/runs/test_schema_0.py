"""A run directory of the version before there was a manifest is read, resumed and reported for ever.

RLE in FourRoom with 4 environments; of the 7 iterations of 64 steps that were asked for it made 5, with
checkpoints after the second and the fourth, and was killed.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

import rle
from rle.runs.directory import META, RunDirectory
from rle.runs.listing import list_runs
from rle.runs.manifest import MANIFEST
from rle.runs.train import resume
from tests.runs.test_resume import assert_same_tree

KEPT = Path(__file__).parent / "data" / "schema-0"


@pytest.fixture
def run(tmp_path: Path) -> RunDirectory:
    shutil.copytree(KEPT, tmp_path / "run")
    return RunDirectory.open(tmp_path / "run")


def test_it_is_as_it_was(run: RunDirectory) -> None:
    assert "schema" not in json.loads((run.path / "config.json").read_text())
    assert not (run.path / MANIFEST).exists()
    assert run.checkpoint_steps() == [128, 256]


def test_it_is_resumed(run: RunDirectory) -> None:
    before = run.load_checkpoint(256)
    resumed = resume(run.path, quiet=True)
    assert (resumed.finished() or {})["step"] == 448
    assert [line["step"] for line in resumed.metrics()] == [64, 128, 192, 256, 320, 384, 448]
    assert resumed.incidents() == []
    assert_same_tree(run.load_checkpoint(256), before)
    # From now on every file is known.
    assert {"config.json", "metrics.jsonl"} < json.loads((run.path / MANIFEST).read_text())[
        "files"
    ].keys()


def test_it_is_evaluated(run: RunDirectory) -> None:
    result = rle.evaluate(run.path, episodes=4)
    assert result.checkpoint_step == 256
    assert len(result.scores) == 4


def test_it_is_reported_and_listed(run: RunDirectory) -> None:
    summary = json.loads((rle.report.report([run.path]).parent / "summary.json").read_text())
    (method,) = summary["tasks"]["fourroom"]["methods"]
    assert method["steps"] == 320
    assert list_runs(run.path)["run"].split()[:4] == ["interrupted", "320", "of", "448"]


def test_what_can_be_seen_without_a_manifest_is(run: RunDirectory) -> None:
    checkpoint = run.checkpoint_path(256)
    checkpoint.write_bytes(checkpoint.read_bytes()[:-1])
    (run.path / META).write_text("{")
    assert run.latest_checkpoint() == 128
    with (
        pytest.warns(UserWarning, match="it cannot be read.*step 128 is used instead"),
        pytest.warns(UserWarning, match=r"meta\.json is damaged"),
    ):
        resume(run.path, quiet=True)
    assert (run.finished() or {})["step"] == 448
    assert len(run.incidents()) == 2
