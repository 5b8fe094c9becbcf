"""Studies on Ray: the same runs, bit for bit, and one sentence where there is no Ray."""

import os
import signal
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from rle.cli import main
from rle.runs.directory import RunDirectory
from rle.runs.files import is_held
from rle.studies import study_status
from rle.studies.executor import STOP_SECONDS
from rle.studies.folder import last_words
from rle.studies.on_ray import RayExecutor, room_for
from rle.studies.resources import Resources
from rle.studies.schedule import CANCELS
from tests.builders import small_config
from tests.runs.test_stopping import wait_for
from tests.studies.test_parts import FOLDERS, STUDY

FILES = ("metrics.jsonl", "episodes.jsonl", "config.json")
NOT_HUMBLE = {"RAY_worker_niceness": "0"}
MIDDLING = STUDY.replace("total_steps = 64", "total_steps = 12_800") + "checkpoint_every = 640\n"
LONG = STUDY.replace("total_steps = 64", "total_steps = 64_000_000")
needs_ray = pytest.mark.skipif(find_spec("ray") is None, reason="the extra `ray` is not installed")


def test_no_run_is_spread_over_two_machines() -> None:
    nodes = [{"CPU": 5.0, "GPU": 1.0, "memory": 3e9}, {"CPU": 3.0}, {"memory": 1.0}]
    assert room_for(nodes, {"CPU": 2, "GPU": 0}) == 2 + 1
    assert room_for(nodes, {"CPU": 2, "GPU": 0.25}) == min(2, 4)
    assert room_for(nodes, {"CPU": 0.5, "GPU": 0.5}) == min(10, 2)
    assert room_for(nodes, {"CPU": 6, "GPU": 0}) == 0
    assert room_for(nodes, {"CPU": 1, "memory": 1e9}) == min(5, 3)


class OneIsSlow:
    """A Ray of one machine, on which every run but the one called slow ends when it is cancelled."""

    def __init__(self) -> None:
        self.cancelled: list[tuple[str, bool]] = []

    def nodes(self) -> list[dict[str, Any]]:
        return [{"Alive": True, "Resources": {"CPU": 2.0}}]

    def remote(self, *_: Any, **options: Any) -> Any:
        return lambda _: SimpleNamespace(remote=lambda job, config, path, share: path.name)

    def cancel(self, result: str, force: bool = False) -> None:
        self.cancelled.append((result, force))

    def wait(self, results: list[str], num_returns: int, timeout: float) -> Any:
        assert num_returns == len(results)
        over = [name for name in results if (name, False) in self.cancelled and name != "slow"]
        return over, [name for name in results if name not in over]

    def shutdown(self) -> None:
        self.cancelled.append(("all", True))


@pytest.mark.parametrize("names", [["slow", "quick"], []])
def test_only_what_does_not_end_is_ended_by_force(
    names: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Ray has died of a cancellation of what had just ended."""
    ray = OneIsSlow()
    monkeypatch.setattr("rle.studies.on_ray._connected", lambda _: ray)
    executor = RayExecutor("local", Resources(), lambda *_: None)
    for name in names:
        executor.submit(name, small_config("rle"), tmp_path / name)
    executor.stop()
    forced = [name for name, force in ray.cancelled if force]
    assert [name for name, force in ray.cancelled if not force] == names
    assert forced == [*(name for name in names if name == "slow"), "all"]


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
        (["--gpus-per-run", "0.5"], "gpus-per-run is for --ray"),
        (["--memory-per-run", "2"], "memory-per-run is '2': give a number and a unit, such as 2GB"),
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


def command(
    folder: Path, out: str, *options: str, text: str = STUDY, **more: Any
) -> subprocess.Popen[str]:
    """A study of its own process; Ray's are not as humble as it lets them be, for others' sake."""
    (folder / "parts.toml").write_text(text)
    return subprocess.Popen(
        [sys.executable, "-m", "rle", "study", "parts.toml", "--out", out, *options],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | NOT_HUMBLE,
        **more,
    )


def end_of(process: subprocess.Popen[str]) -> str:
    said, error = process.communicate(timeout=900)
    assert process.returncode == 0, error
    return said


def without_seconds(path: Path) -> list[str]:
    return [line.partition('"seconds"')[0] for line in path.read_text().splitlines()]


def assert_same_bits(here: Path, there: Path, folders: list[str]) -> None:
    for folder in folders:
        checkpoints = sorted((here / folder / "checkpoints").iterdir())
        assert checkpoints
        for one in checkpoints:
            assert one.read_bytes() == (there / folder / "checkpoints" / one.name).read_bytes()
        for name in FILES:
            one, other = (out / folder / name for out in (here, there))
            assert without_seconds(one) == without_seconds(other)


@needs_ray
def test_the_same_bits_as_in_local_processes(tmp_path: Path) -> None:
    end_of(command(tmp_path, "here", "--seeds", "2"))
    there = end_of(command(tmp_path, "there", "--seeds", "2", "--ray", "local"))
    assert "2 runs finished in there; 128 steps" in there
    assert study_status(tmp_path / "there").counts["done"] == 2
    assert_same_bits(tmp_path / "here", tmp_path / "there", FOLDERS[:2])


@pytest.mark.slow
@needs_ray
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupting_cancels(number: signal.Signals, tmp_path: Path) -> None:
    """All runs write a checkpoint and end, and so does Ray; processes then go on with them."""
    process = command(
        tmp_path,
        "out",
        *("--seeds", "1", "--ray", "local"),
        text=LONG,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    run = tmp_path / "out" / FOLDERS[0]
    log = run / "metrics.jsonl"
    wait_for(lambda: log.exists() and len(without_seconds(log)) > 3)
    before = RunDirectory(run).checkpoint_steps()
    # A terminal's Ctrl-C reaches all processes.
    os.killpg(process.pid, number) if number == signal.SIGINT else process.send_signal(number)
    _, error = process.communicate(timeout=STOP_SECONDS)
    assert process.returncode == 128 + number, error
    assert error == f"{CANCELS}\ninterrupted; the same command goes on from here\n"
    found = RunDirectory.open(run)
    assert found.checkpoint_steps() > before
    assert found.latest_checkpoint() == found.metrics()[-1]["step"]
    assert not is_held(run / "lock")


def is_under_way(run: Path) -> bool:
    """A process trains it, and has done so for a few iterations."""
    log = run / "metrics.jsonl"
    return is_held(run / "lock") and log.exists() and len(without_seconds(log)) > 5


@pytest.mark.slow
@needs_ray
def test_a_machine_that_dies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Twelve runs on three machines, one of which is killed while all are busy."""
    from ray.cluster_utils import Cluster

    for name, value in NOT_HUMBLE.items():
        monkeypatch.setenv(name, value)
    folders = [f"fourroom/ppo/seed-{seed}" for seed in range(12)]
    end_of(command(tmp_path, "here", "--seeds", "12", text=MIDDLING))
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
    try:
        nodes = [cluster.add_node(num_cpus=1) for _ in range(2)]
        process = command(
            tmp_path, "there", "--seeds", "12", "--ray", cluster.address, text=MIDDLING
        )
        paths = [tmp_path / "there" / folder for folder in folders]
        wait_for(lambda: sum(is_under_way(path) for path in paths) == 3, seconds=300.0)
        cluster.remove_node(nodes[0], allow_graceful=False)
        # Until the run has finished elsewhere, its log tells of it.
        wait_for(lambda: any("Ray ended it" in str(last_words(path)) for path in paths), 300.0)
        said = end_of(process)
    finally:
        cluster.shutdown()
    assert "12 runs finished in there" in said
    assert study_status(tmp_path / "there").counts["done"] == 12
    assert_same_bits(tmp_path / "here", tmp_path / "there", folders)


def test_an_address_that_leads_nowhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    monkeypatch.setitem(sys.modules, "ray", ModuleType("ray"))  # which is not asked
    assert main(["study", "demo", "--ray", "127.0.0.1:1", "--out", str(tmp_path / "out")]) == 2
    assert capsys.readouterr().err == (
        "rle: there is no Ray cluster at '127.0.0.1:1' ([Errno 111] Connection refused): give the "
        "address that `ray start --head` printed, or local.\n"
    )
