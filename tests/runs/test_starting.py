"""A start that was killed is a start; what is not ours is not touched."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

import pytest

from rle.errors import UsageError
from rle.runs import files
from rle.runs.directory import CONFIG, INITIAL, LOCK, META, RunDirectory, write_json
from rle.runs.logs import EPISODES, METRICS
from rle.runs.manifest import MANIFEST
from rle.runs.train import resume, train_config
from rle.studies.running import run_all
from tests.builders import small_config
from tests.runs.test_resume import assert_same_tree, stop_after

CONFIGURATION = small_config("none")


class KilledError(BaseException):
    """Nothing that anybody catches."""


def killed_at(number: int, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Let the process die at its n-th rename, and count them."""
    counted = [0]
    replace = Path.replace

    def counting(self: Path, target: Path) -> Path:
        counted[0] += 1
        if counted[0] == number:
            raise KilledError
        return replace(self, target)

    monkeypatch.setattr(Path, "replace", counting)
    return counted


def test_killed_at_every_rename(tmp_path: Path) -> None:
    """Trained into again if it had no configuration yet, and resumed if it had."""
    config = small_config("none", total_steps=2 * 128, checkpoint_every=128)
    whole = train_config(config, tmp_path / "whole", quiet=True)
    number, dead = 0, True
    while dead:
        number += 1
        path = tmp_path / f"killed-{number}"
        with pytest.MonkeyPatch.context() as patched:
            counted = killed_at(number, patched)
            with contextlib.suppress(KilledError):
                train_config(config, path, quiet=True)
            dead = counted[0] >= number
        if not (path / CONFIG).exists():
            run = train_config(config, path, quiet=True)
        else:
            run = resume(path, quiet=True)
        assert run.finished() is not None
        assert_same_tree(run.load_checkpoint(), whole.load_checkpoint())
        assert len(run.metrics()) == len(whole.metrics())
        assert run.problems() == []
        assert run.incidents() == []
        assert run.meta()["python"]
        left = [file.name for file in path.rglob("*.partial")]
        assert left == []
    # Manifest and file of config, meta, spec and the end; of two checkpoints with their artefacts.
    assert number == 1 + 4 * 2 + 2 * 3


def test_leftovers_are_cleaned_and_a_study_heals_them(tmp_path: Path) -> None:
    def leave(path: Path) -> None:
        (path / "checkpoints").mkdir(parents=True)
        for name in (LOCK, MANIFEST, INITIAL, "config.json.partial", "initial.partial"):
            (path / name).write_bytes(b"half")

    leave(tmp_path / "one")
    run = train_config(CONFIGURATION, tmp_path / "one", quiet=True)
    assert run.load_initial() is None
    assert not list(run.path.glob("*.partial"))
    leave(tmp_path / "study" / "none" / "seed-0")
    result = run_all({"none/seed-0": CONFIGURATION}, tmp_path / "study", workers=1, quiet=True)
    assert result.finished == ("none/seed-0",)


@pytest.mark.parametrize("name", ["notes.txt", "film.partial", "checkpoints/mine"])
def test_what_is_not_ours_is_in_the_way(name: str, tmp_path: Path) -> None:
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text("mine")
    with pytest.raises(UsageError, match="is not empty"):
        train_config(CONFIGURATION, tmp_path, quiet=True)
    assert (tmp_path / name).read_text() == "mine"
    assert not (tmp_path / LOCK).exists()


def test_a_run_without_meta_gets_one(tmp_path: Path) -> None:
    source = train_config(CONFIGURATION, tmp_path / "source", quiet=True)
    begun = train_config(CONFIGURATION, tmp_path / "run", quiet=True, init_from=source.path)
    origin = begun.meta()["init_from"]
    (begun.path / META).unlink()
    (begun.path / "finished.json").unlink()
    run = resume(begun.path, quiet=True)
    assert run.meta()["resumed"] is True
    assert run.meta()["init_from"] == origin


@pytest.mark.parametrize(
    "name", [LOCK, METRICS, EPISODES, "checkpoints", "artefacts", "metrics.jsonl.partial"]
)
def test_links_are_not_followed(name: str, tmp_path: Path) -> None:
    stop_after(small_config("none", "fourroom"), tmp_path / "run", 2)
    outside = tmp_path / "outside"
    if name in ("checkpoints", "artefacts"):
        (tmp_path / "run" / name).rename(outside)
        (outside / f"{512:012d}.safetensors").write_bytes(b"theirs")
    else:
        outside.write_bytes(b"theirs")
        (tmp_path / "run" / name).unlink(missing_ok=True)
    (tmp_path / "run" / name).symlink_to(outside)
    before = {path: path.read_bytes() for path in [outside, *outside.glob("*")] if path.is_file()}
    if name.endswith(".partial"):
        resume(tmp_path / "run", quiet=True)
    else:
        with pytest.raises(UsageError, match=f"{name} is a symbolic link"):
            resume(tmp_path / "run", quiet=True)
    assert {path: path.read_bytes() for path in before} == before


def test_neither_are_pipes_waited_for(tmp_path: Path) -> None:
    stop_after(CONFIGURATION, tmp_path / "run", 1)
    for name in (LOCK, METRICS):
        (tmp_path / "run" / name).unlink()
        os.mkfifo(tmp_path / "run" / name)
        with pytest.raises(UsageError, match=f"{name} is "):
            resume(tmp_path / "run", quiet=True)
        (tmp_path / "run" / name).unlink()
        (tmp_path / "run" / name).touch()


def test_a_link_in_the_place_of_a_partial_file(tmp_path: Path) -> None:
    (tmp_path / "theirs").write_text("theirs")
    (tmp_path / "eval.json.partial").symlink_to(tmp_path / "theirs")
    write_json(tmp_path / "eval.json", {"mean": 1})
    assert (tmp_path / "theirs").read_text() == "theirs"
    assert not (tmp_path / "eval.json").is_symlink()


def test_a_full_disk_leaves_the_old_file_and_no_half_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_json(tmp_path / "a.json", 1)

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(files.os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        write_json(tmp_path / "a.json", 2)
    assert [path.name for path in tmp_path.iterdir()] == ["a.json"]
    assert (tmp_path / "a.json").read_text() == "1\n"


def test_data_and_folder_reach_the_disk_before_and_after_the_rename(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[str] = []
    fsync, replace = os.fsync, Path.replace

    def noted(opened: int) -> None:
        done.append("folder" if os.path.isdir(f"/proc/self/fd/{opened}") else "data")  # noqa: PTH112
        fsync(opened)

    monkeypatch.setattr(files.os, "fsync", noted)
    monkeypatch.setattr(Path, "replace", lambda *both: (done.append("rename"), replace(*both))[1])
    run = RunDirectory.create(tmp_path / "run", CONFIGURATION)
    # The new folder; the manifest that announces a file, then the file: config.json and meta.json.
    assert done == ["folder", *["data", "rename", "folder"] * 4]
    done.clear()
    run.save_checkpoint(128, {"iteration": 1}, {})
    assert done == ["data", *["data", "rename", "folder"], *["rename", "folder"]]
