"""How much of FourRoom Stable-Baselines3's PPO covers: alone, in the wrapper, and as `RLEPPO`.

    python benchmarks/plugins_fourroom.py results.csv [--seeds 10] [--steps 500000] [--workers 2]

`rle` is this package's own trainer. All have the numbers of FourRoom's `paper` preset. One line per run
is added to the file as it ends; runs that are in it already are left out.
"""

import argparse
import csv
import multiprocessing
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from gymnasium import spaces
from stable_baselines3 import PPO
from stable_baselines3.common.vec_env import VecEnv

import rle
from rle.plugins.sb3 import RLEPPO, WHITENED, VecRandomLatentExploration
from rle.plugins.sb3.policies import HEAD_GAIN
from rle.presets.fourroom import FOURROOM_PPO, FOURROOM_RLE
from rle.stats import Interval, difference_interval, mean_interval
from rle.tasks.fourroom import TIME_LIMIT, FourRoom

WITH_RLE = ("wrapper", "wrapper-loud", "wrapper-near-zero", "rleppo")
WHITENED_ONES = ("wrapper-loud-whitened", "rleppo-whitened")
METHODS = ("ppo", "ppo-near-zero", *WITH_RLE, *WHITENED_ONES, "rle")
"""`near-zero`: the value head starts as RLEPPO's does, so that nothing but RLE differs from it. `loud`:
with a coefficient of `LOUD`, since a value head that starts at gain 1 says more than a small bonus.
`whitened`: with the plug-ins' `WHITENED` settings."""
NEAR_ZERO = "-near-zero"
LOUD = 10.0
FIELDS = ("method", "seed", "steps", "coverage", "cpu_seconds")
SHARE = (0.0, 1.0)


class PlainVecEnv(VecEnv):
    """A `VecEnv` that is nothing but `reset` and `step`."""

    render_mode = None

    def close(self) -> None:
        pass

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        return [getattr(self, attr_name)] * self.num_envs

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        raise NotImplementedError

    def env_method(self, method_name: str, *args: Any, **kwargs: Any) -> list[Any]:
        raise NotImplementedError

    def env_is_wrapped(self, wrapper_class: Any, indices: Any = None) -> list[bool]:
        return [False] * self.num_envs


class FourRoomVecEnv(PlainVecEnv):
    """`rle/FourRoom-v0`, or its variant with a goal, as tensors: all environments in one step."""

    def __init__(self, num_envs: int, variant: str = "fourroom") -> None:
        self.task = FourRoom(variant, num_envs, TIME_LIMIT)
        seen = spaces.Box(-1.0, 1.0, (2,), np.float32)
        super().__init__(num_envs, seen, spaces.Discrete(4))

    def reset(self) -> Any:
        return self.task.reset(0).numpy()

    def step_async(self, actions: Any) -> None:
        self._step = self.task.step(torch.as_tensor(actions))

    def step_wait(self) -> Any:
        step = self._step
        truncated = step.truncated.numpy()
        dones = step.terminated.numpy() | truncated
        infos: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        for index in np.flatnonzero(dones):
            infos[index] = {
                "terminal_observation": step.next_observation[index].numpy().copy(),
                "TimeLimit.truncated": bool(truncated[index]),
            }
        return step.observation.numpy(), step.reward.numpy().copy(), dones, infos


def agent(
    method: str, seed: int, make: Callable[[int], VecEnv] = FourRoomVecEnv
) -> tuple[Any, Any]:
    """One of Stable-Baselines3's agents and the environments it explores, made by their number."""
    numbers: Any = {key.partition(".")[2]: value for key, value in FOURROOM_PPO.items()}
    bonus: Any = {key.partition(".")[2]: value for key, value in FOURROOM_RLE.items()}
    inner = env = make(numbers["num_envs"])
    if not method.startswith("ppo"):
        # The wrapper's own φ has the preset's shape.
        names = ("dimension", "coefficient", "resample_every", "distribution", "discount")
        names += ("standardise", "unit_norm", "scale_bonus")
        settings = {name: bonus[name] for name in names}
        if method.startswith("wrapper-loud"):
            settings["coefficient"] = LOUD
        if method.endswith("whitened"):
            settings |= WHITENED
        env = VecRandomLatentExploration(env, seed=seed, **settings)
    # Ours halves squared errors; RLEPPO takes the mean of two heads', which halves them as well.
    halved = numbers["value_coefficient"] / 2
    model = (RLEPPO if method.startswith("rleppo") else PPO)(
        "MlpPolicy",
        env,
        learning_rate=numbers["learning_rate"],
        n_steps=numbers["rollout_steps"],
        batch_size=numbers["num_envs"] * numbers["rollout_steps"] // numbers["minibatches"],
        n_epochs=numbers["epochs"],
        gamma=numbers["discount"],
        gae_lambda=numbers["gae_lambda"],
        clip_range=numbers["clip"],
        ent_coef=numbers["entropy_coefficient"],
        vf_coef=numbers["value_coefficient"] if method.startswith("rleppo") else halved,
        max_grad_norm=numbers["max_gradient_norm"],
        policy_kwargs={
            "net_arch": {
                "pi": list(numbers["policy_hidden"]),
                "vf": list(numbers["value_hidden"]),
            },
            "activation_fn": torch.nn.Tanh,
        },
        seed=seed,
        device="cpu",
    )
    if method.endswith(NEAR_ZERO):
        model.policy.value_net.weight.data.mul_(HEAD_GAIN)
    return model, inner


def run(job: tuple[str, int, int]) -> dict[str, Any]:
    """Train one agent; returns its line."""
    method, seed, steps = job
    torch.set_num_threads(1)
    started = time.process_time()
    if method == "rle":
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder) / "run"
            kept = rle.train("fourroom", total_steps=steps, seed=seed, out=out, quiet=True)
            last = kept.metrics()[-1]
        made, coverage = last["step"], last["coverage"]
    else:
        model, env = agent(method, seed)
        model.learn(steps)
        made, coverage = model.num_timesteps, env.task.measures()["coverage"]
    seconds = round(time.process_time() - started, 1)
    return dict(zip(FIELDS, (method, seed, made, round(coverage, 4), seconds), strict=True))


def lines_of(path: Path) -> list[dict[str, str]]:
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def limits_text(interval: Interval) -> str:
    low, high = interval.limits
    return f"{interval.point:+.3f} [{low:+.3f}, {high:+.3f}]"


def show(lines: list[dict[str, str]]) -> None:
    """Every method's mean coverage, and its lead over plain PPO."""
    values = {
        method: [float(line["coverage"]) for line in lines if line["method"] == method]
        for method in METHODS
    }
    for method, seeds in values.items():
        if len(seeds) < 2:
            continue
        text = f"{method:17s} {len(seeds):2d} seeds {limits_text(mean_interval(seeds, SHARE))}"
        if method != "ppo" and len(values["ppo"]) > 1:
            lead = difference_interval(seeds, values["ppo"], SHARE)
            text += f"  over ppo {limits_text(lead)}"
        print(text)


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("file", type=Path, help="where the lines go")
    parser.add_argument("--methods", nargs="+", default=METHODS, choices=METHODS)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--steps", type=int, default=500_000)
    parser.add_argument("--workers", type=int, default=2)
    known = parser.parse_args(arguments)
    done = {(line["method"], int(line["seed"])) for line in lines_of(known.file)}
    jobs = [
        (method, seed, known.steps)
        for seed in range(known.seeds)
        for method in known.methods
        if (method, seed) not in done
    ]
    new = not known.file.exists()
    with (
        known.file.open("a", newline="") as file,
        multiprocessing.get_context("spawn").Pool(known.workers) as pool,
    ):
        writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
        if new:
            writer.writeheader()
        for line in pool.imap_unordered(run, jobs):
            writer.writerow(line)
            file.flush()
            print(*line.values(), flush=True)
    show(lines_of(known.file))


if __name__ == "__main__":
    main(sys.argv[1:])
