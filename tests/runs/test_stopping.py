"""Signals: the first waits for a safe point, the second for nothing, and neither for what hangs."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from rle.errors import Interrupted
from rle.runs import notices, stopping
from rle.runs.callbacks import Callback
from rle.runs.directory import RunDirectory
from rle.runs.episodes import EpisodeTracker
from rle.runs.stopping import listening
from rle.runs.train import resume, train_config
from tests.builders import small_config
from tests.probes import gymnasium_environments
from tests.probes.gymnasium_environments import Misbehaving

gymnasium_environments.register()

ROOT = Path(__file__).parents[2]
TASK = "gym/probe/Misbehaving-v0"


def config(**settings):
    """Eight environments, rollouts of 16 steps: 128 agent steps per iteration, no checkpoint."""
    return small_config("none", TASK, **settings)


class SendingAt(Callback):
    """Sends a signal to this process in the callback of an iteration."""

    def __init__(self, iteration: int, number: signal.Signals) -> None:
        self.iteration, self.number = iteration, number

    def on_iteration(self, trainer, metrics, episodes) -> None:
        if trainer.iteration == self.iteration:
            os.kill(os.getpid(), self.number)


@pytest.fixture
def interruptible(monkeypatch: pytest.MonkeyPatch):
    """A shell that runs tests in the background has them ignore Ctrl-C."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def stopped(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, str]]:
    """What would have ended this process."""
    calls: list[tuple[int, str]] = []
    monkeypatch.setattr(stopping, "_stop_now", lambda *arguments: calls.append(arguments))
    monkeypatch.setattr(stopping, "POLL_SECONDS", 0.02)
    return calls


@pytest.mark.usefixtures("interruptible")
class TestTheFirstSignal:
    @pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
    def test_waits_for_the_end_of_the_iteration(
        self, number: signal.Signals, status: int, tmp_path: Path, stopped: list
    ) -> None:
        Misbehaving.poison(0, 0, "nothing", 0.0)
        handlers = [signal.getsignal(n) for n in stopping.SIGNALS]
        with pytest.raises(Interrupted) as caught:
            train_config(config(), tmp_path / "run", True, callbacks=[SendingAt(2, number)])
        assert caught.value.exit_status == status
        assert RunDirectory.open(tmp_path / "run").checkpoint_steps() == [256]
        assert [signal.getsignal(n) for n in stopping.SIGNALS] == handlers
        assert stopped == []
        assert resume(tmp_path / "run", quiet=True).finished() is not None

    def test_that_is_ignored_stays_so(self, tmp_path: Path) -> None:
        Misbehaving.poison(0, 0, "nothing", 0.0)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        sending = [SendingAt(2, signal.SIGINT)]
        assert train_config(config(), tmp_path / "run", True, callbacks=sending).finished()

    def test_before_the_first_iteration_ends_the_run_as_it_stands(self, tmp_path: Path) -> None:
        class AtStart(Callback):
            def on_start(self, run, trainer) -> None:
                os.kill(os.getpid(), signal.SIGTERM)
                time.sleep(5)

        Misbehaving.poison(0, 0, "nothing", 0.0)
        with pytest.raises(Interrupted):
            train_config(config(), tmp_path / "run", True, callbacks=[AtStart()])
        assert RunDirectory.open(tmp_path / "run").checkpoint_steps() == []

    def test_on_a_terminal_it_says_what_it_waits_for(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
    ) -> None:
        Misbehaving.poison(0, 0, "nothing", 0.0)
        monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
        callbacks = [SendingAt(2, signal.SIGTERM), Waiting(2, 0.3)]
        with pytest.raises(Interrupted):
            train_config(config(), tmp_path / "run", callbacks=callbacks)
        said = "rle: stopping with a checkpoint at the end of this iteration, or in 30 s without"
        assert capsys.readouterr().err.startswith(said)


class Waiting(Callback):
    """Takes its time over an iteration."""

    def __init__(self, iteration: int, seconds: float) -> None:
        self.iteration, self.seconds = iteration, seconds

    def on_iteration(self, trainer, metrics, episodes) -> None:
        if trainer.iteration == self.iteration:
            time.sleep(self.seconds)


@pytest.mark.usefixtures("interruptible")
class TestWhatDoesNotEnd:
    def test_is_stopped_after_the_grace_period(
        self, tmp_path: Path, stopped: list, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(stopping, "GRACE", 0.1)
        Misbehaving.poison(3, 40, "hang", 0.6)
        with pytest.raises(Interrupted):
            train_config(config(), tmp_path / "run", True, callbacks=[SendingAt(2, signal.SIGTERM)])
        assert stopped == []  # the iteration ended in time
        Misbehaving.poison(3, 50, "hang", 1.5)
        callbacks = [SendingAt(2, signal.SIGTERM), Waiting(2, 0.8)]
        with pytest.raises(Interrupted):
            train_config(config(), tmp_path / "other", True, callbacks=callbacks)
        assert stopped[0] == (signal.SIGTERM, "the iteration did not end; stopped")

    def test_a_run_of_long_iterations_gets_longer(
        self, stopped: list, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(stopping, "GRACE", 0.05)
        with listening() as wish, wish.iterating():
            wish.longest_iteration = 10.0
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(0.3)
        assert wish.made
        assert stopped == []

    def test_a_checkpoint_under_way_is_not_cut_off(
        self, stopped: list, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(stopping, "GRACE", 0.1)
        with listening() as wish, wish.iterating():
            with wish.saving():
                os.kill(os.getpid(), signal.SIGTERM)
                time.sleep(0.4)
                assert stopped == []
            time.sleep(0.4)
        assert stopped

    def test_the_second_signal_waits_for_nothing(self, stopped: list) -> None:
        with listening() as wish, wish.iterating():
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(0.2)
            assert stopped == []
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.2)
        assert stopped == [(signal.SIGINT, "stopped at once")]

    def test_outside_the_main_thread_there_are_no_signals(self) -> None:
        import threading

        seen = []

        def run() -> None:
            with listening() as wish:
                seen.append(wish.made)

        thread = threading.Thread(target=run)
        thread.start()
        thread.join()
        assert seen == [False]


def hanging(where: str, call: int, out: Path) -> subprocess.Popen:
    """A run whose fourth environment hangs for minutes, in its `call`-th call."""
    name = "gym/tests.probes.gymnasium_environments:misbehaving"
    command = [sys.executable, "-m", "rle", "train", name, "--explore=none", "--num-envs=8"]
    command += ["--rollout-steps=16", "--total-steps=1024", "--checkpoint-every=128"]
    environment = os.environ | {"MISBEHAVE": f"3,{call},{where},1e9", "OMP_NUM_THREADS": "1"}
    return subprocess.Popen(
        [*command, f"--out={out}"],
        cwd=ROOT,
        env=environment,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


def wait_for(condition, seconds: float = 120.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_an_environment_that_hangs_is_stopped_by_the_second_signal(tmp_path: Path) -> None:
    out = tmp_path / "run"
    process = hanging("compute", 20, out)
    wait_for(lambda: list(out.glob("checkpoints/*.safetensors")))
    time.sleep(0.5)  # until it hangs
    process.send_signal(signal.SIGINT)
    time.sleep(1.0)
    assert process.poll() is None
    process.send_signal(signal.SIGINT)
    _, error = process.communicate(timeout=20)
    assert process.returncode == 130
    assert error == "rle: stopped at once; `rle resume RUN` goes on from the last checkpoint\n"
    assert RunDirectory.open(out).checkpoint_steps() == [128]


def test_a_reset_that_hangs_too(tmp_path: Path) -> None:
    """In C, where Python's own handlers do not run."""
    process = hanging("compute in reset", 0, tmp_path / "run")
    wait_for(lambda: (tmp_path / "run" / "spec.json").exists())
    time.sleep(0.5)
    process.send_signal(signal.SIGTERM)
    time.sleep(1.0)
    assert process.poll() is None
    process.send_signal(signal.SIGTERM)
    _, error = process.communicate(timeout=20)
    assert process.returncode == 143
    assert error == "rle: stopped at once; `rle resume RUN` goes on from the last checkpoint\n"


class TestNotices:
    def test_of_a_call_that_is_not_answered(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
    ) -> None:
        monkeypatch.setattr(notices, "SILENT_SECONDS", 0.2)
        Misbehaving.poison(3, 20, "hang", 0.8)
        train_config(config(), tmp_path / "run")
        (line,) = capsys.readouterr().err.splitlines()
        assert line.startswith(
            f"environment 3 of {TASK} has not answered step for 0 s, at step 160:"
        )

    def test_of_a_reset(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
    ) -> None:
        monkeypatch.setattr(notices, "SILENT_SECONDS", 0.2)
        Misbehaving.poison(5, 0, "hang in reset", 0.8)
        train_config(config(), tmp_path / "run")
        (line,) = capsys.readouterr().err.splitlines()
        assert line.startswith(
            f"environment 5 of {TASK} has not answered reset for 0 s, at step 0:"
        )

    def test_of_an_episode_that_does_not_end(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """None of the eight ends; after three iterations each has gone on for 48 steps."""
        monkeypatch.setattr(notices, "ENDLESS_STEPS", 40)
        Misbehaving.poison(0, 0, "nothing", 0.0)
        with pytest.warns(
            UserWarning, match=r"environment 0 .* for 48 steps, at step 384: "
        ) as told:
            train_config(config(), tmp_path / "run")
        assert len(told) == 1

    def test_the_longest_episode(self) -> None:
        import torch

        tracker = EpisodeTracker(3)
        over = torch.zeros(4, 3, dtype=torch.bool)
        over[1, 0] = over[2, 2] = True
        tracker.take(torch.zeros(4, 3), over, None)
        assert tracker.longest() == (1, 4)
