"""Ranks as processes: started, led, told of failures, and gone when the first one is."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import torch

import rle
from rle.errors import RunError, UsageError
from rle.runs.directory import RunDirectory
from rle.runs.state import bytes_state, state_bytes

SMALL: dict[str, Any] = {
    **{"rollout_steps": 16, "num_envs": 8, "time_limit": 40, "compile": "off", "quiet": True},
}
LAST = 10 * 16 * 8


def state_of(run: RunDirectory) -> dict[str, Any]:
    step = run.checkpoint_steps()[-1]
    state: dict[str, Any] = run.load_checkpoint(step)
    return state


def test_a_run_on_two_devices_is_that_on_one_and_goes_on_there(tmp_path: Path) -> None:
    alone = rle.train("fourroom-sparse", out=tmp_path / "one", total_steps=LAST, **SMALL)
    half = rle.train(
        "fourroom-sparse", out=tmp_path / "two", total_steps=LAST // 2, devices=2, **SMALL
    )
    assert half.config().machine.devices == 2
    split = rle.resume(half.path, quiet=True, total_steps=LAST, devices=1)
    assert split.config().machine.devices == 1
    for name in ("episodes.jsonl", "metrics.jsonl"):
        one, two = (
            [json.loads(line) for line in (run.path / name).read_text().splitlines()]
            for run in (alone, split)
        )
        assert len(one) == len(two) > 0
        for a, b in zip(one, two, strict=True):
            a.pop("seconds", None), b.pop("seconds", None)
            assert a == pytest.approx(b, rel=5e-3, abs=1e-4)
    for key, value in state_of(alone)["learner"]["network"].items():
        other = state_of(split)["learner"]["network"][key]
        torch.testing.assert_close(value, other, rtol=2e-3, atol=2e-5)
    played = rle.evaluate(split.path, episodes=2)
    assert len(played.scores) == 2


BROKEN = '''
import gymnasium

class Breaks(gymnasium.Env):
    """Raises at its third step, if it was given the fourth seed."""

    observation_space = gymnasium.spaces.Box(-1, 1, (2,))
    action_space = gymnasium.spaces.Discrete(2)
    steps = 0

    def reset(self, *, seed=None, options=None):
        self.given = seed
        return self.observation_space.low * 0, {}

    def step(self, action):
        self.steps += 1
        if self.steps == 3 and self.given == BASE + 3:
            raise ValueError("the cable is loose")
        return self.observation_space.low * 0, 0.0, False, False, {}
'''


def test_what_an_environment_elsewhere_raises_is_told_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from rle.randomness import derive_seed
    from rle.tasks.gym.vector import SEED_RANGE

    base = derive_seed(0, "task") % SEED_RANGE
    (tmp_path / "loose_cable.py").write_text(f"BASE = {base}\n{BROKEN}")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(
        RunError, match=r"environment 3 of .* raised ValueError \(the cable is loose\)"
    ):
        rle.train(
            "gym/loose_cable:Breaks",
            "none",
            out=tmp_path / "run",
            devices=2,
            total_steps=4096,
            num_envs=4,
            rollout_steps=16,
            compile="off",
            quiet=True,
        )
    kept = next((tmp_path / "run" / "failures").glob("*.json"))
    assert "the cable is loose" in json.loads(kept.read_text())["sentence"]


def command(out: Path, *more: str) -> list[str]:
    return [
        *(sys.executable, "-m", "rle", "train", "fourroom", "--out", str(out), "--compile", "off"),
        *("--num-envs", "8", "--rollout-steps", "16", "--devices", "2", *more),
    ]


def followers_of(pid: int) -> list[int]:
    """Processes on this machine that it started."""
    return [
        int(child)
        for task in Path(f"/proc/{pid}/task").iterdir()
        for child in (task / "children").read_text().split()
    ]


def wait_for(what: Any, seconds: float = 60.0) -> Any:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            found = what()
        except OSError:
            found = None
        if found:
            return found
        time.sleep(0.05)
    raise AssertionError("it did not happen in time")


def is_there(pid: int) -> bool:
    try:
        return "State:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_ranks_end_with_the_first(tmp_path: Path, number: signal.Signals) -> None:
    out = tmp_path / "run"
    leader = subprocess.Popen(
        command(out, "--total-steps", "100000000"),
        start_new_session=True,
        # Whoever runs the tests may ignore it.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    wait_for(lambda: (out / "metrics.jsonl").read_text().count("\n") > 2)
    (follower,) = followers_of(leader.pid)
    if number == signal.SIGINT:
        # As a terminal does it: all of them are told.
        os.killpg(leader.pid, number)
    else:
        leader.kill()
    status = leader.wait(60)
    assert status == (130 if number == signal.SIGINT else -signal.SIGKILL)
    wait_for(lambda: not is_there(follower))
    run = RunDirectory.open(out)
    assert run.checkpoint_steps()
    if number == signal.SIGINT:
        rows = [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]
        assert run.checkpoint_steps()[-1] == rows[-1]["step"]


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_a_rank_that_is_killed_ends_the_run_with_a_sentence(tmp_path: Path) -> None:
    out = tmp_path / "run"
    leader = subprocess.Popen(
        command(out, "--total-steps", "100000000"), stderr=subprocess.PIPE, text=True,
        stdout=subprocess.DEVNULL,
    )  # fmt: skip
    wait_for(lambda: (out / "metrics.jsonl").read_text().count("\n") > 2)
    (follower,) = followers_of(leader.pid)
    os.kill(follower, signal.SIGKILL)
    _, complained = leader.communicate(timeout=60)
    assert leader.returncode == 1
    assert "one of the run's 2 devices ended without a word" in complained
    assert "Traceback" not in complained
    assert f"rle resume {out}" in complained


def test_under_torchrun(tmp_path: Path) -> None:
    out = tmp_path / "run"
    launcher = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    arguments = command(out)[1:]
    arguments = [*arguments[: arguments.index("--devices")], "--total-steps", str(LAST)]
    done = subprocess.run(
        [*launcher, *arguments], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    run = RunDirectory.open(out)
    assert run.config().machine.devices == 2
    assert run.finished() is not None
    alone = rle.train(
        "fourroom", out=tmp_path / "one", total_steps=LAST, compile="off", quiet=True,
        num_envs=8, rollout_steps=16,
    )  # fmt: skip
    for key, value in state_of(alone)["learner"]["network"].items():
        other = state_of(run)["learner"]["network"][key]
        torch.testing.assert_close(value, other, rtol=2e-3, atol=2e-5)


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"devices": 10_000}, "devices is 10000, and there are"),
        ({"devices": 2, "num_envs": 7}, "num-envs is 7, which 2 devices cannot share evenly"),
        ({"devices": 2, "explore": "white-noise"}, "white-noise cannot be split over 2 devices"),
        ({"devices": 0}, "devices is 0"),
    ],
    ids=str,
)
def test_what_cannot_be_split_is_refused(
    tmp_path: Path, settings: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(UsageError, match=sentence):
        rle.train("fourroom", **{**SMALL, **settings}, out=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_an_object_cannot_be_split(tmp_path: Path) -> None:
    import gymnasium

    def made() -> Any:
        return gymnasium.make("CartPole-v1")

    with pytest.raises(UsageError, match="handed over as an object"):
        rle.train(made, out=tmp_path / "run", devices=2, num_envs=4, quiet=True)


def test_states_survive_being_sent() -> None:
    state = {"a": [torch.arange(3), {"b": 1.5, "c": None}], "d": "word", "e": {}}
    back = bytes_state(state_bytes(state))
    assert torch.equal(back["a"][0], state["a"][0])
    assert back["a"][1] == state["a"][1]
    assert (back["d"], back["e"]) == ("word", {})
