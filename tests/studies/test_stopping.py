"""A study's workers never outlive it, however it ends; its last line says which run failed, and why."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from rle.runs.directory import RunDirectory
from rle.studies import run_all
from rle.studies.folder import log_of
from rle.studies.running import StudyResult, what_failed
from rle.studies.schedule import CANCELS
from tests.builders import small_config
from tests.runs.test_stopping import wait_for
from tests.studies.test_studies import _workers_of

ROOT = Path(__file__).parents[2]
HANGING = "gym/tests.probes.gymnasium_environments:misbehaving"


def started(out: Path, hanging: bool) -> tuple[subprocess.Popen, list[int]]:
    """A study with one run under way, which hangs in its second iteration or is in no hurry."""
    script = f"""
import sys
sys.path.insert(0, {str(ROOT)!r})
from pathlib import Path
from rle.cli import main
import rle.cli
from rle.studies import run_all
from tests.builders import small_config
if __name__ == "__main__":
    task = {HANGING!r} if {hanging} else "fourroom-sparse"
    config = small_config("none", task, total_steps=128 * 100_000, checkpoint_every=128)
    rle.cli.VERBS["study"] = lambda _: run_all({{"one": config}}, Path({str(out)!r}), 1, True) and None
    sys.exit(main(["study"]))
"""
    path = out.with_suffix(".py")
    path.write_text(script)
    process = subprocess.Popen(
        [sys.executable, str(path)],
        env=os.environ | {"MISBEHAVE": "3,20,compute,1e9", "OMP_NUM_THREADS": "1"},
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    wait_for(lambda: list(out.glob("one/checkpoints/*.safetensors")))
    if hanging:
        time.sleep(0.5)
    workers = _workers_of(process.pid)
    assert len(workers) == 1
    return process, workers


def alive(workers: list[int]) -> bool:
    return any(Path(f"/proc/{worker}").exists() for worker in workers)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_in_order(number: signal.Signals, tmp_path: Path) -> None:
    """Ctrl-C reaches all processes of a terminal, and yet is no second signal for a worker."""
    process, workers = started(tmp_path / "study", hanging=False)
    before = RunDirectory.open(tmp_path / "study" / "one").checkpoint_steps()
    os.killpg(process.pid, number) if number == signal.SIGINT else process.send_signal(number)
    _, error = process.communicate(timeout=60)
    assert process.returncode == 128 + number
    assert error == f"{CANCELS}\ninterrupted; the same command goes on from here\n"
    assert not alive(workers)
    assert RunDirectory.open(tmp_path / "study" / "one").checkpoint_steps() > before
    assert "at once" not in log_of(tmp_path / "study" / "one").read_text()


def test_a_hanging_worker_ends_with_the_second_ctrl_c(tmp_path: Path) -> None:
    process, workers = started(tmp_path / "study", hanging=True)
    process.send_signal(signal.SIGINT)
    time.sleep(1.0)
    assert process.poll() is None
    process.send_signal(signal.SIGINT)
    _, error = process.communicate(timeout=20)
    assert process.returncode == 130
    assert "Traceback" not in error
    assert not alive(workers)


def test_a_hanging_worker_ends_soon_after_its_study_was_killed(tmp_path: Path) -> None:
    process, workers = started(tmp_path / "study", hanging=True)
    process.kill()
    process.wait()
    assert alive(workers)
    wait_for(lambda: not alive(workers), seconds=15.0)
    process.communicate()  # only now: it would wait for the worker too
    assert RunDirectory.open(tmp_path / "study" / "one").checkpoint_steps() == [128]


def test_what_a_failed_run_has_to_say(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MISBEHAVE", "3,20,exception,0")
    monkeypatch.setenv("PYTHONPATH", f"{ROOT}:{os.environ.get('PYTHONPATH', '')}")
    runs = {"one": small_config("none", HANGING, checkpoint_every=128)}
    result = run_all(runs, tmp_path, workers=1, quiet=True)
    assert result.failed == ("one",)
    log = log_of(tmp_path / "one")
    assert "Traceback" not in log.read_text()
    assert what_failed(result).startswith(
        f"one failed ({log}): environment 3 of {HANGING} raised LookupError (the dice are lost) at step "
    )
    assert what_failed(result).endswith("; start the study again to go on.")


def test_one_of_several_that_left_no_word(tmp_path: Path) -> None:
    result = StudyResult(tmp_path, (), ("a", "b", "c"), 0.0, 0)
    log = log_of(tmp_path / "a")
    assert what_failed(result) == (
        f"a failed, and 2 others, each with a log like it ({log}): it left no word; start the study "
        "again to go on."
    )
