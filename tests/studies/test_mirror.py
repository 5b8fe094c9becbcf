"""Studies at an address: trained elsewhere, gone on with anywhere, seen from everywhere."""

import uuid
from pathlib import Path

import pytest

from rle.cli import main
from rle.machine import SHARE
from rle.runs.directory import RunDirectory
from rle.runs.remote import Store
from rle.runs.train import train_config
from rle.runs.trainer import Trainer
from rle.studies import study_status
from rle.studies.folder import GIVEN_UP, record_runs
from rle.studies.mirror import Mirror
from rle.studies.worker import work_at
from tests.builders import small_config
from tests.studies.test_on_ray import assert_same_bits
from tests.studies.test_parts import FOLDERS, STUDY

CONFIG = small_config("rle", total_steps=1024, checkpoint_every=256)
MIRROR = Path("/mirror")


class Killed(BaseException):
    """As by SIGKILL: nobody catches it, and nothing more is brought anywhere."""


def test_a_killed_run_goes_on_from_what_has_arrived(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed in its fifth iteration, of 128 steps each: the checkpoint of its fourth has arrived."""
    monkeypatch.setenv(SHARE, "1")
    address = f"memory://{uuid.uuid4()}"
    real, began = Trainer.iterate, []

    def iterate(self: Trainer) -> object:
        began.append(self.step)
        if len(began) == 6:
            raise Killed
        return real(self)

    monkeypatch.setattr(Trainer, "iterate", iterate)
    with pytest.raises(Killed):
        work_at(address, MIRROR, CONFIG, MIRROR / "a" / "seed-0", 1)
    assert work_at(address, MIRROR, CONFIG, MIRROR / "a" / "seed-0", 1) is None
    # Without the fifth, which was logged and not saved.
    assert began == [0, 128, 256, 384, 512, 640, 512, 640, 768, 896]
    store = Store(address)
    assert "a/seed-0-log.txt" not in store.names()
    store.copy(tmp_path / "there")
    train_config(CONFIG, tmp_path / "here" / "a" / "seed-0", quiet=True)
    assert_same_bits(tmp_path / "here", tmp_path / "there", ["a/seed-0"])
    assert RunDirectory.open(tmp_path / "there" / "a" / "seed-0").problems() == []


def test_a_run_that_fails_leaves_its_log_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SHARE, "1")
    address = f"memory://{uuid.uuid4()}"

    def fail(self: Trainer) -> None:
        raise RuntimeError("the dice are lost")

    monkeypatch.setattr(Trainer, "iterate", fail)
    for _ in range(2):
        work_at(address, MIRROR, CONFIG, MIRROR / "a" / "seed-0", 1)
    mirror = Mirror(address)
    said = (mirror.path / "a" / "seed-0-log.txt").read_text()
    assert said.count("RuntimeError: the dice are lost") == 2
    # Which the study adds to, and what `rle study status` reads.
    with (mirror.path / "a" / "seed-0-log.txt").open("a") as log:
        print(GIVEN_UP, file=log)
    mirror.tell("a/seed-0")
    record_runs(mirror.path, {"a/seed-0": 1024})
    mirror.store.put(mirror.path / "study.json", "study.json")
    found = study_status(f"{address}/")
    assert found.counts["failed"] == 1
    assert str(found).splitlines()[0].startswith(f"{address}: 1 runs: 0 done")
    assert found.runs[0].log == f"{address}/a/seed-0-log.txt"


def test_a_study_at_an_address(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    """Of processes that share nothing but it, with the bits of a study in a folder."""
    (tmp_path / "parts.toml").write_text(STUDY)
    line = ["study", str(tmp_path / "parts.toml"), "--seeds", "2"]
    assert main([*line, "--out", str(tmp_path / "here")]) == 0
    address = f"file://{tmp_path}/there"
    assert main([*line, "--out", address]) == 0
    assert f"2 runs finished in {address}; 128 steps" in capsys.readouterr().out
    assert_same_bits(tmp_path / "here", tmp_path / "there", FOLDERS[:2])
    assert not list((tmp_path / "there").rglob("*.partial"))
    assert main([*line, "--out", address]) == 0
    assert "; 0 steps in" in capsys.readouterr().out
    assert main(["study", "status", address]) == 0
    assert capsys.readouterr().out.startswith(f"{address}: 2 runs: 2 done, 0 running")
    assert main(["report", address, "--out", str(tmp_path / "report")]) == 0
    assert (tmp_path / "report" / "report.html").exists()
    # Other settings are refused with the address, not with what shows it here.
    other = STUDY.replace("policy_hidden = [8]", "policy_hidden = [16]")
    (tmp_path / "parts.toml").write_text(other)
    assert main([*line, "--out", address]) == 2
    said = capsys.readouterr().err
    assert said == (
        f"rle: {address}/{FOLDERS[0]} holds a run with other settings: choose another --out.\n"
    )


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        (["study", "demo", "--out", "carrier-pigeon://a"], "carrier-pigeon://a cannot be opened"),
        (["study", "status", "carrier-pigeon://a"], "carrier-pigeon://a cannot be opened"),
        (["study", "status", "memory://nothing"], "is not a study's folder"),
        (["report", "carrier-pigeon://a"], "carrier-pigeon://a cannot be opened"),
    ],
)
def test_bad_addresses(line: list[str], sentence: str, capsys: pytest.CaptureFixture) -> None:
    assert main(line) == 2
    said = capsys.readouterr().err
    assert sentence in said
    assert said.count("\n") == 1


def test_an_address_that_does_not_answer(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    def silent(self: Store, folder: str = "") -> list[str]:
        raise PermissionError("Access Denied.\nRequest 12")

    monkeypatch.setattr(Store, "names", silent)
    assert main(["study", "status", "memory://a"]) == 2
    assert capsys.readouterr().err == (
        "rle: memory://a cannot be reached (Access Denied): check the address, and what grants access "
        "to it.\n"
    )
