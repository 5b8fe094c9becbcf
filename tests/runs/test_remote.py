"""Runs at an address: whatever moment their machine dies at, what has arrived can be gone on with."""

import contextlib
import shutil
import sys
import uuid
from pathlib import Path

import pytest

from rle.errors import UsageError
from rle.runs.callbacks import Callback
from rle.runs.directory import FINISHED, LOCK, RunDirectory
from rle.runs.remote import Store, is_address, is_small, place
from rle.runs.train import resume, train_config
from rle.runs.trainer import Trainer
from tests.builders import small_config


class DeadError(Exception):
    """The machine is."""


class Dying(Callback):
    def on_iteration(self, trainer: Trainer, metrics: object, episodes: object) -> None:
        if trainer.step > 512:
            raise DeadError


@pytest.fixture
def store() -> Store:
    """Lives in this process, and nobody else has it."""
    return Store(f"memory://{uuid.uuid4()}/study/")


@pytest.fixture(scope="module")
def halves(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A run that was killed an iteration after its checkpoint at step 512, and the same at its end."""
    folder = tmp_path_factory.mktemp("halves")
    with pytest.raises(DeadError):
        train_config(small_config("rle"), folder / "half", quiet=True, callbacks=[Dying()])
    shutil.copytree(folder / "half", folder / "whole")
    resume(folder / "whole", quiet=True)
    return folder / "half", folder / "whole"


def files_of(run: Path) -> dict[str, bytes]:
    found = {path.relative_to(run).as_posix(): path for path in run.rglob("*") if path.is_file()}
    return {name: path.read_bytes() for name, path in found.items() if name != LOCK}


def test_there_and_back(store: Store, halves: tuple[Path, Path], tmp_path: Path) -> None:
    store.upload(halves[1], "a/seed-0")
    store.download("a/seed-0", tmp_path / "back")
    assert files_of(tmp_path / "back") == files_of(halves[1])
    assert sorted(store.names()) == sorted(f"a/seed-0/{name}" for name in files_of(halves[1]))
    assert store.names("b") == []
    store.download("b", tmp_path / "none")
    assert not (tmp_path / "none").exists() or not any((tmp_path / "none").iterdir())


def test_only_what_has_changed_is_brought_there(
    store: Store, halves: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = tmp_path / "run"
    shutil.copytree(halves[1], run)
    store.upload(run, "a")
    put = []
    monkeypatch.setattr(store, "put", lambda _, name: put.append(name))
    store.upload(run, "a")
    assert put == []
    first, *_ = RunDirectory(run).checkpoint_steps()
    RunDirectory(run).checkpoint_path(first).unlink()
    with (run / "metrics.jsonl").open("a") as log:
        log.write("{}\n")
    store.upload(run, "a")
    assert put == ["a/metrics.jsonl"]
    left = [name for name in store.names("a") if name.startswith("checkpoints/")]
    assert left == [f"checkpoints/{step:012d}.safetensors" for step in (1024,)]


def test_a_machine_that_dies_while_it_brings_a_run_there(
    halves: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After each of its puts there is a whole run, at the one checkpoint or at the other."""
    arrived, finished, puts = [], [], 0
    while not finished or not finished[-1]:
        store = Store(f"memory://{uuid.uuid4()}")
        store.upload(halves[0], "a")
        (after := tmp_path / f"after-{puts}").mkdir()
        left, real, order = puts, Store.put, []

        def put(self: Store, local: Path, name: str, real=real, order=order) -> None:
            nonlocal left
            if left == 0:
                raise DeadError
            left -= 1
            order.append(name)
            real(self, local, name)

        with monkeypatch.context() as patch:
            patch.setattr(Store, "put", put)
            with contextlib.suppress(DeadError):
                store.upload(halves[1], "a")
        store.download("a", after / "run")
        run = RunDirectory.open(after / "run")
        assert run.problems() == []
        arrived.append(run.latest_checkpoint())
        run.load_checkpoint()
        finished.append(left > 0)
        puts += 1
    # It arrives with the manifest, and not before.
    assert arrived == sorted(arrived)
    assert set(arrived) == {512, 1024}
    assert arrived.index(1024) == order.index("a/manifest.json") + 1


def test_a_checkpoint_that_is_not_as_it_was_written(
    store: Store, halves: tuple[Path, Path], tmp_path: Path
) -> None:
    store.upload(halves[1], "a")
    damaged = tmp_path / "damaged"
    data = bytearray(RunDirectory(halves[1]).checkpoint_path(1024).read_bytes())
    data[-1] ^= 1
    damaged.write_bytes(data)
    store.put(damaged, "a/checkpoints/000000001024.safetensors")
    store.remove(f"a/{FINISHED}")
    store.remove(f"a/{FINISHED}")  # which is gone
    store.download("a", tmp_path / "back")
    with pytest.warns(UserWarning, match=r"1,024 is damaged \(its SHA-256.*512 is used"):
        resume(tmp_path / "back", quiet=True)
    for step in (512, 1024):
        one, other = (
            RunDirectory(path).checkpoint_path(step) for path in (halves[1], tmp_path / "back")
        )
        assert one.read_bytes() == other.read_bytes()


def test_names() -> None:
    assert place("runs/a") == Path("runs/a")
    assert place("s3://bucket/a") == "s3://bucket/a"
    assert is_address("gs://a")
    assert not is_address(Path("s3://a"))
    assert is_small("t/m/seed-0/metrics.jsonl")
    assert is_small("study.json")
    assert not is_small("t/m/seed-0/checkpoints/1.safetensors")
    assert not is_small("checkpoints/1.safetensors")


def test_an_unknown_protocol() -> None:
    with pytest.raises(
        UsageError, match=r"^carrier-pigeon://a cannot be opened \(Protocol not known"
    ):
        Store("carrier-pigeon://a")


def test_a_protocol_that_needs_a_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "s3fs", None)
    with pytest.raises(UsageError, match=r"Install s3fs.*random-latent-exploration\[remote\]"):
        Store("s3://bucket/a")
