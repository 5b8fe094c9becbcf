"""What Stable-Baselines3, rsl_rl and CleanRL do where docs/reliability.md says what `rle` does.

    python -m benchmarks.reliability_peers [--trials 100] [--cleanrl ppo_continuous_action.py]

Each fault is tried on the peer's own saving, loading and training, as its documentation has them; what
came out is printed as a table. CleanRL is a collection of files, not a package: give it the one.
"""

import argparse
import base64
import contextlib
import hashlib
import importlib.util
import io
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
import zipfile
from collections import Counter
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any, Protocol

import cloudpickle
import gymnasium
import numpy as np
import torch
from rsl_rl.env import VecEnv
from rsl_rl.runners import OnPolicyRunner
from stable_baselines3 import PPO
from tensordict import TensorDict
from torch import Tensor

ROOT = Path(__file__).parent.parent
WORLD, BAD_WORLD = "Pendulum-v1", "benchmarks.reliability_peers:NanPendulum-v0"
BAD_STEP = 300
STEPS = 512


class NanReward(gymnasium.Wrapper[Any, Any, Any, Any]):
    """One reward is not a number, and all before and after it are."""

    made = 0

    def step(self, action: Any) -> Any:
        self.made += 1
        seen, reward, *rest = self.env.step(action)
        return seen, float("nan") if self.made == BAD_STEP else reward, *rest


def nan_pendulum() -> gymnasium.Env[Any, Any]:
    return NanReward(gymnasium.make(WORLD))


gymnasium.register("NanPendulum-v0", nan_pendulum)


class Payload:
    """What a stranger may put into a pickle: here, it only leaves a mark."""

    def __init__(self, mark: Path) -> None:
        self.mark = str(mark)

    def __reduce__(self) -> Any:
        return os.mkdir, (self.mark,)


def digest(value: Any) -> str:
    """Of all tensors in a tree."""
    found = hashlib.sha256()

    def take(inner: Any) -> None:
        if isinstance(inner, Tensor):
            found.update(inner.detach().contiguous().numpy().tobytes())
        elif isinstance(inner, dict):
            for key in sorted(inner, key=str):
                take(inner[key])
        elif isinstance(inner, list | tuple):
            for each in inner:
                take(each)

    take(value)
    return found.hexdigest()


class Peer(Protocol):
    name: str
    suffix: str

    def save(self, path: Path) -> None:
        """Train for a moment and save."""

    def saver(self, path: Path) -> Callable[[], None]:
        """Saves to `path` whenever it is called."""

    def load(self, path: Path) -> Any:
        """What a user gets of a file: all tensors."""

    def stranger(self, path: Path, mark: Path) -> None:
        """A file of the peer's kind that makes a folder when it is unpickled."""

    def nan(self, folder: Path) -> str:
        """What training with one reward that is not a number comes to."""

    def resumed(self, path: Path) -> str:
        """Whether half of the training, saved, loaded and continued, ends where the whole ends."""


class StableBaselines3:
    name, suffix = f"Stable-Baselines3 {version('stable_baselines3')}", ".zip"

    def _model(self, world: str = WORLD) -> PPO:
        return PPO("MlpPolicy", world, n_steps=64, batch_size=64, n_epochs=1, seed=0, device="cpu")

    def save(self, path: Path) -> None:
        self._model().learn(STEPS).save(path)

    def saver(self, path: Path) -> Callable[[], None]:
        model = self._model().learn(STEPS)
        return lambda: model.save(path)

    def load(self, path: Path) -> Any:
        return PPO.load(path, device="cpu").get_parameters()

    def stranger(self, path: Path, mark: Path) -> None:
        self.save(path)
        with zipfile.ZipFile(path) as old:
            files = {name: old.read(name) for name in old.namelist()}
        code = base64.b64encode(cloudpickle.dumps(Payload(mark))).decode()
        files["data"] = b'{"policy_class": {":type:": "x", ":serialized:": "%s"}}' % code.encode()
        with zipfile.ZipFile(path, "w") as new:
            for name, data in files.items():
                new.writestr(name, data)

    def nan(self, folder: Path) -> str:
        return finite(self._model(BAD_WORLD).learn(2 * STEPS).get_parameters())

    def resumed(self, path: Path) -> str:
        whole = self._model().learn(2 * STEPS)
        self._model().learn(STEPS).save(path)
        half = PPO.load(path, env=gymnasium.make(WORLD), device="cpu").learn(
            STEPS, reset_num_timesteps=False
        )
        return equality(whole.get_parameters(), half.get_parameters())


class Line(VecEnv):
    """A place between -1 and 1 that actions move; the reward is the place."""

    def __init__(self, bad_step: int | None = None) -> None:
        self.num_envs, self.num_actions, self.max_episode_length = 4, 1, 16
        self.device, self.cfg, self._made, self._bad = "cpu", {}, 0, bad_step
        self.episode_length_buf = torch.zeros(4, dtype=torch.long)
        self._place = torch.zeros(4, 1)

    def get_observations(self) -> Any:
        return TensorDict({"policy": self._place.clone()}, batch_size=[4])

    def step(self, actions: Tensor) -> Any:
        self._made += 1
        self._place = (self._place + 0.2 * actions.clamp(-1, 1)).clamp(-1, 1)
        reward = self._place[:, 0].clone()
        if self._made == self._bad:
            reward[0] = float("nan")
        self.episode_length_buf = self.episode_length_buf + 1
        ended = self.episode_length_buf == 16
        self.episode_length_buf[ended] = 0
        self._place[ended] = 0.0
        return self.get_observations(), reward, ended.long(), {"time_outs": ended}


class RslRl:
    name, suffix = f"rsl_rl {version('rsl-rl-lib')}", ".pt"

    def _runner(self, env: VecEnv | None = None) -> OnPolicyRunner:
        torch.manual_seed(0)
        model = {"class_name": "MLPModel", "hidden_dims": [64, 64], "activation": "tanh"}
        noise = {"distribution_cfg": {"class_name": "GaussianDistribution"}}
        learning = {"num_learning_epochs": 1, "num_mini_batches": 1, "schedule": "fixed"}
        configuration = {
            "num_steps_per_env": 64,
            "save_interval": 1000,
            "obs_groups": {"actor": ["policy"], "critic": ["policy"]},
            "actor": {**model, **noise},
            "critic": model,
            "algorithm": {"class_name": "PPO", **learning},
        }
        return OnPolicyRunner(env or Line(), configuration, device="cpu")

    def save(self, path: Path) -> None:
        self.saver(path)()

    def saver(self, path: Path) -> Callable[[], None]:
        runner = self._runner()
        runner.learn(4)
        return lambda: runner.save(str(path))

    def load(self, path: Path) -> Any:
        runner = self._runner()
        runner.load(str(path))
        return runner.alg.save()

    def stranger(self, path: Path, mark: Path) -> None:
        torch.save({"iter": Payload(mark)}, path)

    def nan(self, folder: Path) -> str:
        runner = self._runner(Line(BAD_STEP // 4))
        runner.learn(8)
        return finite(runner.alg.save())

    def resumed(self, path: Path) -> str:
        whole = self._runner()
        whole.learn(8)
        half = self._runner()
        half.learn(4)
        half.save(str(path))
        again = self._runner()
        again.load(str(path))
        again.learn(4)
        return equality(whole.alg.save(), again.alg.save())


class CleanRL:
    name, suffix = "CleanRL", ".cleanrl_model"

    def __init__(self, file: Path) -> None:
        self._file = file.absolute()
        self.name = f"CleanRL's {file.name}"
        spec = importlib.util.spec_from_file_location("cleanrl_file", file)
        assert spec is not None
        assert spec.loader is not None
        self._module = importlib.util.module_from_spec(spec)
        sys.modules["cleanrl_file"] = self._module
        spec.loader.exec_module(self._module)

    def _agent(self) -> Any:
        torch.manual_seed(0)
        make = self._module.make_env(WORLD, 0, False, "", 0.99)
        return self._module.Agent(gymnasium.vector.SyncVectorEnv([make]))

    def _run(self, folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
        paths = f"{ROOT}{os.pathsep}{ROOT / 'src'}"
        return subprocess.run(
            [sys.executable, str(self._file), *options],
            env=os.environ | {"PYTHONPATH": paths},
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
        )

    def save(self, path: Path) -> None:
        steps = ("--total-timesteps", str(STEPS), "--num-steps", "128")
        self._run(path.parent, "--env-id", WORLD, *steps, "--save-model")
        (saved,) = (path.parent / "runs").rglob(f"*{self.suffix}")
        saved.rename(path)

    def saver(self, path: Path) -> Callable[[], None]:
        agent = self._agent()
        return lambda: torch.save(agent.state_dict(), path)

    def load(self, path: Path) -> Any:
        # As its evaluation does.
        agent = self._agent()
        agent.load_state_dict(torch.load(path, map_location="cpu"))
        return agent.state_dict()

    def stranger(self, path: Path, mark: Path) -> None:
        torch.save({"weight": Payload(mark)}, path)

    def nan(self, folder: Path) -> str:
        steps = ("--total-timesteps", str(2 * STEPS), "--num-steps", "128")
        ended = self._run(folder, "--env-id", BAD_WORLD, *steps)
        if ended.returncode:
            raise RuntimeError(re.findall(r"^\w+Error:.*", ended.stderr, re.MULTILINE)[-1])
        return "finishes with exit status 0"

    def resumed(self, path: Path) -> str:
        options = self._run(path.parent, "--help").stdout
        can = [word for word in ("--resume", "--load", "--checkpoint") if word in options]
        return f"has {can}" if can else "no option to go on: it starts again"


def finite(parameters: Any) -> str:
    """Whether all tensors of a tree are."""
    bad = any(not torch.isfinite(each).all() for each in tensors(parameters))
    return f"finishes, {'with parameters that are NaN' if bad else 'with finite parameters'}"


def tensors(value: Any) -> list[Tensor]:
    if isinstance(value, Tensor):
        return [value]
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [tensor for each in inner for tensor in tensors(each)]


def equality(first: Any, second: Any) -> str:
    return "the same bits" if digest(first) == digest(second) else "other parameters"


def outcome(action: Callable[[], Any]) -> tuple[str, Any]:
    """How an action ended: `ok` and its result, or `error` and its words."""
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            return "ok", action()
    except Exception as error:
        return (
            "error",
            f"{type(error).__name__}: {str(error).splitlines()[0][:90] if str(error) else ''}",
        )


def damaged(peer: Peer, good: Path, trials: int, damage: Callable[[bytearray], Any]) -> str:
    """Damage a saved file in many ways and load it."""
    expected = digest(peer.load(good))
    assert digest(peer.load(good)) == expected
    counts: Counter[str] = Counter()
    bad = good.with_name(f"bad{peer.suffix}")
    for _ in range(trials):
        data = bytearray(good.read_bytes())
        damage(data)
        bad.write_bytes(data)
        how, result = outcome(lambda: digest(peer.load(bad)))
        same = "the same numbers" if result == expected else "OTHER NUMBERS, silently"
        counts["an exception" if how == "error" else same] += 1
    return ", ".join(f"{what} {count}" for what, count in counts.most_common())


def killed(peer: Peer, path: Path, trials: int, dice: random.Random) -> str:
    """Kill a process that saves all the time, and load what it left."""
    save = peer.saver(path)
    unreadable = 0
    for _ in range(trials):
        save()
        child = os.fork()
        if child == 0:
            while True:
                save()
        time.sleep(dice.uniform(0.02, 0.06))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        unreadable += outcome(lambda: peer.load(path))[0] == "error"
    return f"unreadable {unreadable} of {trials}"


def stranger(peer: Peer, path: Path) -> str:
    mark = path.with_name("mark")
    peer.stranger(path, mark)
    how, result = outcome(lambda: peer.load(path))
    return (
        "ITS CODE RAN" if mark.exists() else f"refused ({result})" if how == "error" else "ignored"
    )


def tried(peer: Peer, folder: Path, trials: int) -> dict[str, str]:
    dice = random.Random(0)
    good = folder / f"good{peer.suffix}"
    with contextlib.redirect_stdout(io.StringIO()):
        peer.save(good)

    def flip(data: bytearray) -> None:
        data[dice.randrange(len(data))] ^= 1 << dice.randrange(8)

    def cut(data: bytearray) -> None:
        del data[dice.randrange(len(data)) :]

    faults: dict[str, Callable[[], str]] = {
        f"a flipped bit, {trials} times": lambda: damaged(peer, good, trials, flip),
        f"a file cut short, {trials} times": lambda: damaged(peer, good, trials, cut),
        "killed while saving": lambda: killed(peer, folder / f"torn{peer.suffix}", trials, dice),
        "one NaN reward": lambda: peer.nan(folder),
        "a stranger's file": lambda: stranger(peer, folder / f"strange{peer.suffix}"),
        "saved, loaded, continued": lambda: peer.resumed(folder / f"half{peer.suffix}"),
    }
    return {fault: str(outcome(action)[1]) for fault, action in faults.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--trials", type=int, default=100)
    parser.add_argument("--cleanrl", type=Path, help="its ppo_continuous_action.py")
    known = parser.parse_args()
    torch.set_num_threads(1)
    np.seterr(all="ignore")
    peers: list[Peer] = [StableBaselines3(), RslRl()]
    peers += [CleanRL(known.cleanrl)] if known.cleanrl else []
    for peer in peers:
        with tempfile.TemporaryDirectory() as folder:
            print(peer.name)
            for fault, result in tried(peer, Path(folder), known.trials).items():
                print(f"  {fault:28s} {result}", flush=True)


if __name__ == "__main__":
    main()
