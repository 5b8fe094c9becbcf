"""How often Stable-Baselines3's DQN and SAC reach a goal that is far away: alone, and with RLE.

    python -m benchmarks.plugins_offpolicy results.csv [--task fourroom-goal] [--seeds 10]
        [--methods plain stored fresh] [--steps N] [--workers 2] [--figure curves.png]

`fourroom-goal` is DQN on FourRoom with reward 1 in the far corner, `mountain-car-continuous` SAC on
MountainCarContinuous-v0. `plain` has neither wrapper nor z. The others have both, and a
`LatentReplayBuffer` that replays under the z that was `stored`, a `fresh` one, the one of `hindsight`,
or half under each of the last two (`fresh+hindsight`). All else is equal: the numbers below.

One line per run is added to the file as it ends; runs that are in it already are left out. Success is
the share of training episodes that end at the goal, in ten equal parts of training (empty: none ended),
and `final` that of the trained agent's likeliest actions. A run takes 60 to 110 seconds of one core on
either task: ten seeds of four methods are half an hour of two cores.
"""

import argparse
import csv
import multiprocessing
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import torch
from benchmarks.plugins_fourroom import SHARE, FourRoomVecEnv, limits_text, lines_of
from stable_baselines3 import DQN, SAC
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.vec_env import DummyVecEnv, VecEnv

from rle.plugins.sb3 import LatentReplayBuffer, VecRandomLatentExploration, replaying
from rle.presets.fourroom import FOURROOM_RLE, GYM
from rle.report.draw.figures import CurveFigure, Series
from rle.report.draw.render import draw
from rle.report.draw.style import assign_styles
from rle.stats import difference_interval, mean_interval

SHARES: dict[str, dict[str, float]] = {
    "plain": {},
    "stored": {"stored": 1.0},
    "fresh": {"fresh": 1.0},
    "hindsight": {"hindsight": 1.0},
    "fresh+hindsight": {"fresh": 0.5, "hindsight": 0.5},
}
PARTS = 10
PART_FIELDS = tuple(f"success_{part}" for part in range(1, PARTS + 1))
FIELDS = ("task", "method", "seed", "steps", *PART_FIELDS, "final", "first_success", "cpu_seconds")
EPISODES = 20
"""Of the trained agent."""
BONUS_NAMES = ("dimension", "coefficient", "resample_every", "distribution", "discount")
BONUS_NAMES += ("standardise", "unit_norm", "scale_bonus")

Line = dict[str, Any]
Job = tuple[str, str, int, int]
"""Task, method, seed and steps."""


@dataclass(frozen=True)
class Contest:
    """A task, and what all methods have in common there."""

    title: str
    make: Callable[[int], VecEnv]
    """Environments, by their number."""
    num_envs: int
    steps: int
    agent: Any
    numbers: dict[str, Any]
    bonus: Any
    """RLE's settings: a preset of this package's own trainer."""


def goal_rooms(num_envs: int) -> VecEnv:
    return FourRoomVecEnv(num_envs, "fourroom-sparse")


def mountain_car() -> gymnasium.Env[Any, Any]:
    """Observations within [-1, 1], since a velocity of 0.07 is hardly seen; the goal is worth 1."""
    env = gymnasium.make("MountainCarContinuous-v0")
    env = gymnasium.wrappers.RescaleObservation(env, np.float32(-1.0), np.float32(1.0))
    return gymnasium.wrappers.TransformReward(env, lambda reward: reward / 100)


def mountain_cars(num_envs: int) -> VecEnv:
    return DummyVecEnv([mountain_car] * num_envs)


CONTESTS = {
    "fourroom-goal": Contest(
        title="DQN on FourRoom with a goal",
        make=goal_rooms,
        num_envs=16,
        steps=250_000,
        agent=DQN,
        numbers={
            "learning_rate": 1e-3,
            "buffer_size": 250_000,
            "learning_starts": 10_000,
            "batch_size": 256,
            "gamma": 0.99,
            # Two gradient steps after each step of the 16 environments.
            "train_freq": 1,
            "gradient_steps": 2,
            # A value goes back by one step with every update of the target, and the goal is 100 away.
            "target_update_interval": 1_000,
            # ε falls from 1 to 0.05 in the first tenth.
            "exploration_fraction": 0.1,
            "exploration_final_eps": 0.05,
            "policy_kwargs": {"net_arch": [128, 128]},
        },
        bonus=FOURROOM_RLE,
    ),
    "mountain-car-continuous": Contest(
        title="SAC on MountainCarContinuous",
        make=mountain_cars,
        num_envs=4,
        steps=60_000,
        agent=SAC,
        numbers={
            "learning_rate": 3e-4,
            "buffer_size": 100_000,
            "learning_starts": 2_000,
            "batch_size": 256,
            "gamma": 0.99,
            # One gradient step after each step of the 4 environments.
            "train_freq": 1,
            "gradient_steps": 1,
            # Stable-Baselines3's default starts at 1, for rewards that are a hundred times these.
            "ent_coef": "auto_0.01",
            "policy_kwargs": {"net_arch": [64, 64]},
        },
        bonus=GYM["rle"],
    ),
}


class Success(BaseCallback):
    """Counts episodes and those that reached the goal, by the part of training they ended in."""

    def __init__(self, steps: int) -> None:
        super().__init__()
        self._steps = steps
        self.ended = np.zeros(PARTS)
        self.reached = np.zeros(PARTS)
        self.first: int | None = None
        """Steps of all environments when the goal was first reached."""

    def _on_step(self) -> bool:
        dones = self.locals["dones"]
        if dones.any():
            part = min((self.num_timesteps - 1) * PARTS // self._steps, PARTS - 1)
            reached = at_goal(dones, self.locals["infos"]).sum()
            self.ended[part] += dones.sum()
            self.reached[part] += reached
            if reached and self.first is None:
                self.first = self.num_timesteps
        return True

    def shares(self) -> list[float | None]:
        """One per part; None where no episode ended."""
        return [
            round(float(reached / ended), 4) if ended else None
            for reached, ended in zip(self.reached, self.ended, strict=True)
        ]


def at_goal(dones: Any, infos: list[dict[str, Any]]) -> Any:
    """bool `[N]`: on these tasks an episode ends at the goal or by its time limit."""
    late = [info.get("TimeLimit.truncated", False) for info in infos]
    return dones & ~np.array(late, np.bool_)


def agent(task: str, method: str, seed: int) -> tuple[Any, VecEnv]:
    """One of Stable-Baselines3's agents and its environments, wrapped unless `plain`."""
    contest = CONTESTS[task]
    env = contest.make(contest.num_envs)
    replay: dict[str, Any] = {}
    if method != "plain":
        bonus = {name: contest.bonus[f"rle.{name}"] for name in BONUS_NAMES}
        env = VecRandomLatentExploration(env, seed=seed, **bonus)
        replay = {
            "replay_buffer_class": LatentReplayBuffer,
            "replay_buffer_kwargs": replaying(env, **SHARES[method]),
        }
    model = contest.agent("MlpPolicy", env, seed=seed, device="cpu", **contest.numbers, **replay)
    return model, env


def final_success(task: str, model: Any, env: VecEnv, seed: int) -> float:
    """The share of episodes in which the agent's likeliest actions reach the goal; z is drawn."""
    watched = CONTESTS[task].make(EPISODES)
    if isinstance(env, VecRandomLatentExploration):
        watched = env.for_evaluation(watched)
    watched.seed(10_000 + seed)
    seen = watched.reset()
    ended = reached = np.zeros(EPISODES, np.bool_)
    while not ended.all():
        actions, _ = model.predict(seen, deterministic=True)
        seen, _, dones, infos = watched.step(actions)
        reached = reached | (at_goal(dones, infos) & ~ended)
        ended = ended | dones
    return float(reached.mean())


def run(job: Job) -> Line:
    """Train one agent; returns its line."""
    task, method, seed, steps = job
    torch.set_num_threads(1)
    started = time.process_time()
    model, env = agent(task, method, seed)
    success = Success(steps)
    model.learn(steps, callback=success)
    seconds = round(time.process_time() - started, 1)
    final = round(final_success(task, model, env, seed), 4)
    made = model.num_timesteps
    values = (task, method, seed, made, *success.shares(), final, success.first, seconds)
    return dict(zip(FIELDS, values, strict=True))


def values_of(lines: list[dict[str, str]], field: str) -> dict[str, list[float]]:
    """The values of a field by method, where there are at least two."""
    values = {
        method: [float(line[field]) for line in lines if line["method"] == method and line[field]]
        for method in SHARES
    }
    return {method: seeds for method, seeds in values.items() if len(seeds) > 1}


def show(task: str, lines: list[dict[str, str]]) -> None:
    """Every method's success at the end of training and after it, and its lead over `plain`."""
    print(CONTESTS[task].title)
    for field, words in ((PART_FIELDS[-1], "last tenth of training"), ("final", "trained agent")):
        print(f"  success, {words}")
        values = values_of(lines, field)
        for method, seeds in values.items():
            text = (
                f"    {method:15s} {len(seeds):2d} seeds {limits_text(mean_interval(seeds, SHARE))}"
            )
            if method != "plain" and "plain" in values:
                lead = difference_interval(seeds, values["plain"], SHARE)
                text += f"  over plain {limits_text(lead)}"
            print(text)
    print("  seeds that reached the goal, and the steps that the median one of them took")
    for method in dict.fromkeys(line["method"] for line in lines):
        own = [line for line in lines if line["method"] == method]
        firsts = [int(line["first_success"]) for line in own if line["first_success"]]
        steps = f"{np.median(firsts):9,.0f}" if firsts else ""
        print(f"    {method:15s} {len(firsts):2d} of {len(own):2d} {steps}")


def success_figure(task: str, lines: list[dict[str, str]]) -> CurveFigure:
    """Success over steps with 95 % bands."""
    steps = max((int(line["steps"]) for line in lines), default=0)
    parts = [values_of(lines, field) for field in PART_FIELDS]
    series = []
    for method, style in assign_styles(SHARES).items():
        known = [part for part in range(PARTS) if method in parts[part]]
        if not known:
            continue
        bands = [mean_interval(parts[part][method], SHARE) for part in known]
        limits = np.array([band.limits for band in bands])
        ends = np.array([(part + 1) * steps / PARTS for part in known])
        points = np.array([band.point for band in bands])
        series.append(Series(method, style, ends, points, limits[:, 0], limits[:, 1]))
    return CurveFigure(
        name=f"{task}-success",
        title=CONTESTS[task].title,
        caption="Share of training episodes that reach the goal, each point of a tenth of training; "
        "means over seeds with 95 % intervals.",
        y_label="share of episodes at the goal",
        series=tuple(series),
        limits=(0.0, 1.0),
        digits=3,
    )


@contextmanager
def workers(number: int) -> Iterator[Callable[..., Any]]:
    """A `map` over so many processes; with one, this is it."""
    if number == 1:
        yield map
        return
    with multiprocessing.get_context("spawn").Pool(number) as pool:
        yield pool.imap_unordered


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("file", type=Path, help="where the lines go")
    parser.add_argument("--task", default="fourroom-goal", choices=CONTESTS)
    parser.add_argument("--methods", nargs="+", default=list(SHARES), choices=SHARES)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--steps", type=int, help="of training; else as many as the task has")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--figure", type=Path, metavar="FILE.png", help="draw success over steps")
    known = parser.parse_args(arguments)
    done = {(line["task"], line["method"], int(line["seed"])) for line in lines_of(known.file)}
    jobs = [
        (known.task, method, seed, known.steps or CONTESTS[known.task].steps)
        for seed in range(known.seeds)
        for method in known.methods
        if (known.task, method, seed) not in done
    ]
    new = not known.file.exists()
    with known.file.open("a", newline="") as file, workers(known.workers) as mapped:
        writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
        if new:
            writer.writeheader()
        for line in mapped(run, jobs):
            writer.writerow(line)
            file.flush()
            print(*line.values(), flush=True)
    lines = [line for line in lines_of(known.file) if line["task"] == known.task]
    show(known.task, lines)
    if known.figure is not None:
        figure = success_figure(known.task, lines)
        if not figure.series:
            sys.exit("nothing to draw: no method has two seeds whose episodes ended in training.")
        known.figure.write_bytes(draw(figure, figure.name).png)


if __name__ == "__main__":
    main(sys.argv[1:])
