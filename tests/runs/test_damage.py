"""Damage is seen, said and recorded; the checkpoint before it is used, and nothing is made up."""

from __future__ import annotations

import json
import re
import shutil
import warnings
from pathlib import Path

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import rle
from rle.cli import main
from rle.errors import UsageError
from rle.report.read.records import read_run
from rle.runs.checkpoints import ARTEFACTS, CHECKPOINTS
from rle.runs.directory import CONFIG, FINISHED, INCIDENTS, META, SPEC, RunDirectory
from rle.runs.files import ASIDE
from rle.runs.loading import load
from rle.runs.logs import EPISODES, METRICS
from rle.runs.manifest import MANIFEST, Manifest, Mark
from rle.runs.train import resume, train_config
from tests.builders import small_config
from tests.runs.test_going_on import without_time
from tests.runs.test_resume import assert_same_tree, stop_after

# Episodes of 37 steps end in iterations of 16.
SETTINGS = {"time_limit": 37, "checkpoint_every": 256}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> RunDirectory:
    """Checkpoints at 256, 512, 768 and 1024 steps."""
    config = small_config("none", "fourroom", **SETTINGS)
    return train_config(config, tmp_path_factory.mktemp("whole") / "run", quiet=True)


@pytest.fixture
def run(whole: RunDirectory, tmp_path: Path) -> RunDirectory:
    """The same, as if it had been killed before it was finished."""
    shutil.copytree(whole.path, tmp_path / "run")
    (tmp_path / "run" / FINISHED).unlink()
    return RunDirectory.open(tmp_path / "run")


def flip(path: Path, byte: int, bit: int = 0) -> None:
    data = bytearray(path.read_bytes())
    data[byte] ^= 1 << bit
    path.write_bytes(data)


def checkpoint(run: RunDirectory, step: int) -> Path:
    return run.path / CHECKPOINTS / f"{step:012d}.safetensors"


def assert_ends_like(run: RunDirectory, whole: RunDirectory) -> None:
    assert run.finished() is not None
    assert_same_tree(run.load_checkpoint(), whole.load_checkpoint())


@pytest.mark.parametrize("byte", [0, 7, 8, 100, 5000, -1])
def test_one_bit_is_enough(run: RunDirectory, whole: RunDirectory, byte: int) -> None:
    flip(checkpoint(run, 1024), byte)
    sentence = r"at step 1,024 is damaged \(its SHA-256 .* the one at step 768 is used instead"
    with pytest.warns(UserWarning, match=sentence):
        resume(run.path, quiet=True)
    assert_ends_like(run, whole)
    assert without_time(run.metrics()) == without_time(whole.metrics())
    assert run.episodes() == whole.episodes()
    (incident,) = run.incidents()
    assert incident["step"] == 768
    assert "step 1,024 is damaged" in incident["what"]
    assert checkpoint(run, 1024).with_name(f"{1024:012d}.safetensors{ASIDE}").exists()


def test_one_that_somebody_removed(run: RunDirectory, whole: RunDirectory) -> None:
    checkpoint(run, 1024).unlink()
    sentence = r"at step 1,024 is damaged \(No such file .*: the one at step 768 is used instead"
    with pytest.warns(UserWarning, match=sentence):
        assert load(run.path).trained_steps == 768
    with pytest.warns(UserWarning, match=sentence):
        resume(run.path, quiet=True)
    assert_ends_like(run, whole)
    (incident,) = run.incidents()
    assert "step 1,024 is damaged" in incident["what"]


def test_all_that_somebody_removed(run: RunDirectory, whole: RunDirectory) -> None:
    shutil.rmtree(run.path / CHECKPOINTS)
    with pytest.warns(UserWarning, match="none of its 4 checkpoints is good.*from its beginning"):
        resume(run.path, quiet=True)
    assert_ends_like(run, whole)


def test_one_that_was_announced_and_not_yet_there_is_no_loss(run: RunDirectory) -> None:
    # As a process leaves it that is killed between the two.
    file = checkpoint(run, 1024)
    file.rename(file.with_name(file.name + ".partial"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert load(run.path).trained_steps == 768
        resume(run.path, quiet=True)
        assert load(run.path).trained_steps == 1024
    assert run.incidents() == []


def test_a_folder_under_the_name_of_a_file_that_is_being_written(run: RunDirectory) -> None:
    (run.path / CHECKPOINTS / f"{1152:012d}.safetensors.partial").mkdir()
    with pytest.raises(UsageError, match="is a folder where a file is to be written: remove it"):
        resume(run.path, quiet=True)


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("name", [METRICS, EPISODES])
def test_lines_that_were_doubled(
    run: RunDirectory, whole: RunDirectory, name: str, known: bool
) -> None:
    path = run.path / name
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines, *lines[1:4]]))
    if known:
        # Behind what the manifest knows is nothing that is needed.
        resume(run.path, quiet=True)
    else:
        (run.path / MANIFEST).unlink()
        doubled = f"{name} has 3 doubled lines, which are left out"
        with (
            pytest.warns(UserWarning, match="manifest.json is missing"),
            pytest.warns(UserWarning, match=doubled),
        ):
            resume(run.path, quiet=True)
    assert_ends_like(run, whole)
    assert without_time(run.metrics()) == without_time(whole.metrics())
    assert run.episodes() == whole.episodes()


def test_several_in_a_row(run: RunDirectory, whole: RunDirectory) -> None:
    checkpoint(run, 1024).write_bytes(b"")
    checkpoint(run, 768).write_bytes(checkpoint(run, 512).read_bytes())
    with pytest.warns(UserWarning, match="as are 1 before it: the one at step 512 is used"):
        resume(run.path, quiet=True)
    assert_ends_like(run, whole)


def test_without_any_good_one_it_starts_again_and_keeps_its_logs(
    run: RunDirectory, whole: RunDirectory
) -> None:
    logged = (run.path / METRICS).read_bytes()
    for step in run.checkpoint_steps():
        flip(checkpoint(run, step), 1000)
    with pytest.warns(UserWarning, match="none of its 4 checkpoints is good.*from its beginning"):
        resume(run.path, quiet=True)
    assert_ends_like(run, whole)
    assert (run.path / "metrics-1.jsonl").read_bytes() == logged
    assert without_time(run.metrics()) == without_time(whole.metrics())


def test_agents_of_a_damaged_checkpoint(run: RunDirectory) -> None:
    flip(checkpoint(run, 1024), 1000)
    with pytest.warns(UserWarning, match="the one at step 768 is used instead"):
        assert load(run.path).trained_steps == 768
    with pytest.raises(UsageError, match=r"000000001024.safetensors is damaged \(its .* choose"):
        load(run.path, 1024)
    assert run.latest_checkpoint() == 768
    for step in run.checkpoint_steps():
        flip(checkpoint(run, step), 500)
    with pytest.raises(UsageError, match="none of its 4 checkpoints is good"):
        load(run.path)


def test_the_command_says_it_in_one_sentence(
    run: RunDirectory, capsys: pytest.CaptureFixture[str]
) -> None:
    flip(checkpoint(run, 1024), 1000)
    assert main(["eval", str(run.path), "--step", "1024", "--episodes", "1"]) == 2
    said = capsys.readouterr().err
    assert said.startswith("rle: ")
    assert said.count("\n") == 1


def test_artefacts_that_are_damaged(run: RunDirectory) -> None:
    flip(run.path / ARTEFACTS / f"{1024:012d}.safetensors", 1000)
    with pytest.raises(UsageError, match=r"artefacts/000000001024\.safetensors is damaged"):
        run.load_artefacts(1024)
    assert torch.equal(run.load_artefacts()["visits"], run.load_artefacts(768)["visits"])


def test_reports_show_the_last_good_checkpoint(run: RunDirectory) -> None:
    flip(checkpoint(run, 1024), 1000)
    flip(run.path / ARTEFACTS / f"{768:012d}.safetensors", 1000)
    (run.path / META).write_text("{")
    with (run.path / METRICS).open("r+b") as file:
        file.write(b"[")
    record = read_run(run.path, "run")
    assert record.checkpoints == (256, 512, 768)
    assert record.artefacts == (256, 512, 1024)
    notes = " ".join(record.notes)
    assert "the checkpoint at step 1,024 is damaged (its SHA-256" in notes
    assert "the map of visits at step 768 is damaged" in notes
    assert "meta.json is damaged" in notes
    assert "1 lines of metrics.jsonl are damaged and left out" in notes
    assert "metrics.jsonl is not as the run wrote it" in notes
    page = rle.report.report([run.path])
    assert "after 768 steps" in page.read_text()


def test_a_changed_configuration(run: RunDirectory, capsys: pytest.CaptureFixture[str]) -> None:
    """0.001 and 0.003 differ in one bit, and both are learning rates."""
    text = (run.path / CONFIG).read_text()
    rate = run.config().learner.learning_rate
    (run.path / CONFIG).write_text(text.replace(f'"learning_rate": {rate}', '"learning_rate": 0.5'))
    for verb in ("resume", "eval", "report"):
        assert main([verb, str(run.path)]) == 2
        assert "config.json is damaged (" in capsys.readouterr().err
    # Somebody may mean it.
    (run.path / MANIFEST).unlink()
    assert run.config().learner.learning_rate == 0.5


@pytest.mark.parametrize("how", ["gone", "empty", "cut"])
@pytest.mark.parametrize("name", [METRICS, EPISODES])
def test_a_log_that_has_lost_lines(
    run: RunDirectory, whole: RunDirectory, name: str, how: str
) -> None:
    path = run.path / name
    lines = path.read_bytes().splitlines(keepends=True)
    # Eight iterations; the eight environments are truncated in the third, fifth and seventh. "cut": as
    # it was at the checkpoint before the last, after the sixth.
    of, before = (8, 6) if name == METRICS else (3 * 8, 2 * 8)
    assert len(lines) == of
    if how == "gone":
        path.unlink()
    else:
        path.write_bytes(b"" if how == "empty" else b"".join(lines[:before]))
    lost = of - (before if how == "cut" else 0)
    what = "iterations" if name == METRICS else "episodes"
    with pytest.warns(UserWarning, match=f"{name} lacks {lost} of {of} {what}, which are lost"):
        resume(run.path, quiet=True)
    assert_ends_like(run, whole)
    assert [name in incident["what"] for incident in run.incidents()] == [True]
    kept = run.metrics() if name == METRICS else run.episodes()
    assert len(kept) == of - lost


def test_a_line_that_is_damaged(run: RunDirectory) -> None:
    lines = (run.path / METRICS).read_bytes().splitlines(keepends=True)
    (run.path / METRICS).write_bytes(b"".join([*lines[:2], lines[2][9:], *lines[3:]]))
    with pytest.warns(UserWarning, match=f"{METRICS} is not as the run wrote it"):
        assert [line["iteration"] for line in run.metrics()] == [1, 2, 4, 5, 6, 7, 8]
    sentence = "has 1 damaged lines, which are left out and lacks 1 of 8 iterations"
    with pytest.warns(UserWarning, match=sentence):
        resume(run.path, quiet=True)
    assert len(run.metrics()) == 7
    assert (run.path / "metrics-1.jsonl").read_bytes().splitlines(True)[2] == lines[2][9:]


def test_what_was_lost_is_recorded_once(run: RunDirectory) -> None:
    config = run.config()
    (run.path / EPISODES).unlink()
    with pytest.warns(UserWarning, match="lacks 24 of 24 episodes"):
        resume(run.path, quiet=True)
    resume(run.path, quiet=True, total_steps=config.total_steps + 256)
    assert len(run.incidents()) == 1
    # After 37 · 4 = 148 of 160 steps another episode of each environment has ended.
    assert len(run.episodes()) == 8


def test_a_number_that_was_changed(run: RunDirectory) -> None:
    text = (run.path / METRICS).read_text()
    (run.path / METRICS).write_text(text.replace('"coverage": 0.', '"coverage": 1.', 1))
    with pytest.warns(UserWarning, match="metrics.jsonl is not as the run wrote it: its SHA-256"):
        resume(run.path, quiet=True)
    assert len(run.incidents()) == 1


@pytest.mark.parametrize("name", [META, SPEC, FINISHED])
@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"\xff\xfe", b"[" * 10**5])
def test_what_is_not_needed_stops_nothing(
    whole: RunDirectory, tmp_path: Path, name: str, content: bytes
) -> None:
    shutil.copytree(whole.path, tmp_path / "run")
    run = RunDirectory.open(tmp_path / "run")
    (run.path / FINISHED).unlink()
    (run.path / name).write_bytes(content)
    assert rle.load(run.path).trained_steps == 1024
    with pytest.warns(UserWarning, match=f"{name} is damaged"):
        resume(run.path, quiet=True)
    assert_ends_like(run, whole)
    assert (run.path / (name + ASIDE)).read_bytes() == content
    assert run.meta()["python"]
    assert run.meta().get("resumed", False) == (name == META)
    # No step was made, so there is no speed to speak of.
    assert (run.finished() or {})["steps_per_second"] is None


def test_a_manifest_that_is_damaged_or_gone(run: RunDirectory, whole: RunDirectory) -> None:
    flip(run.path / MANIFEST, 100)
    with pytest.warns(UserWarning, match="manifest.json is damaged .* cannot be told"):
        assert load(run.path).trained_steps == 1024
    (run.path / MANIFEST).unlink()
    with pytest.warns(UserWarning, match="manifest.json is missing"):
        resume(run.path, quiet=True)
    assert_ends_like(run, whole)
    # What is there now is known from now on.
    flip(checkpoint(run, 1024), 1000)
    assert run.latest_checkpoint() == 768


def test_what_was_announced_and_not_written(run: RunDirectory) -> None:
    """However often a process is killed between the two."""
    config, lines = run.config(), run.metrics()
    for text in (b"1", b"22", b"3"):
        manifest = Manifest.read(run.path)
        manifest.announce({CONFIG: Mark.of(text), METRICS: Mark.of(text)})
        manifest.write()
        assert run.config() == config
        assert run.metrics() == lines
        assert run.problems() == []


def test_a_run_that_is_as_it_was_has_nothing_to_say(run: RunDirectory, tmp_path: Path) -> None:
    assert run.problems() == []
    resume(run.path, quiet=True)
    assert run.problems() == []
    assert not (run.path / INCIDENTS).exists()
    stop_after(run.config(), tmp_path / "stopped", 3)
    resume(tmp_path / "stopped", quiet=True)
    assert not (tmp_path / "stopped" / INCIDENTS).exists()


def test_files_that_are_no_checkpoints(run: RunDirectory) -> None:
    for name in ("foo.safetensors", "-1.safetensors", "1.safetensors", "²²²²²²²²²²²².safetensors"):
        (run.path / CHECKPOINTS / name).write_bytes(b"")
    assert run.checkpoint_steps() == [256, 512, 768, 1024]


@settings(max_examples=50, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_damage_to_any_file_is_a_recovery_or_a_sentence(
    whole: RunDirectory, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    """What is loaded is what was saved, and whatever was damaged that is looked at is noticed."""
    path = tmp_path_factory.mktemp("damaged") / "run"
    shutil.copytree(whole.path, path)
    names = sorted(str(each.relative_to(path)) for each in path.rglob("*.*") if each.is_file())
    name = data.draw(st.sampled_from(names))
    content = (path / name).read_bytes()
    kind = data.draw(st.sampled_from(["flip", "cut", "replace", "folder"]))
    if kind == "flip":
        bit = data.draw(st.integers(0, 8 * len(content) - 1))
        flip(path / name, bit // 8, bit % 8)
    elif kind == "folder":
        (path / name).unlink()
        (path / name).mkdir()
    else:
        less = content[: data.draw(st.integers(0, len(content) - 1))]
        (path / name).write_bytes(less if kind == "cut" else data.draw(st.binary(max_size=50)))
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            run = RunDirectory.open(path)
            config, (step, state), problems = run.config(), run.load_latest(), run.problems()
        except UsageError as error:
            problems, sentence = [], str(error)
        else:
            sentence = ""
            assert config == whole.config()
            assert_same_tree(state, whole.load_checkpoint(step))
    assert "\n" not in sentence
    not_looked_at = name.startswith((CHECKPOINTS, ARTEFACTS)) and not name.startswith(
        f"{CHECKPOINTS}/{1024:012d}"
    )
    assert sentence or problems or said or not_looked_at


def test_a_newer_run_is_refused(run: RunDirectory, capsys: pytest.CaptureFixture[str]) -> None:
    values = json.loads((run.path / CONFIG).read_text())
    assert values["schema"] == 1
    (run.path / CONFIG).write_text(json.dumps(values | {"schema": 2}))
    for words in (["resume"], ["eval"], ["report"], ["list", "runs"], ["check"]):
        assert main([*words, str(run.path)]) == 2
        said = capsys.readouterr().err
        assert "newer version of the program (schema 2, and this one knows 1)" in said
        assert said.count("\n") == 1


@pytest.mark.parametrize("damage", [(b'"iteration"', b'"mteration"'), (b'": 8,', b'": 0,')])
def test_a_line_behind_the_checkpoint_cannot_look_like_an_earlier_one(
    run: RunDirectory, whole: RunDirectory, damage: tuple[bytes, bytes]
) -> None:
    """What was logged after the last checkpoint goes, whatever became of it."""
    for name in (METRICS, EPISODES):
        path = run.path / name
        later = path.read_bytes().splitlines(keepends=True)[-1]
        later = re.sub(rb'"iteration": \d+', b'"iteration": 8', later)
        path.write_bytes(path.read_bytes() + later.replace(*damage, 1))
    resume(run.path, quiet=True)
    assert run.incidents() == []
    assert_ends_like(run, whole)
    assert [row["iteration"] for row in run.metrics()] == list(range(1, len(run.metrics()) + 1))
    assert len(run.episodes()) == len(whole.episodes())
