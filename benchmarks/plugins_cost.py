"""What RLE costs in Stable-Baselines3's training: CPU time per step with it, over that without it.

    python -m benchmarks.plugins_cost [--rounds 10] [--only fourroom atari replay ...]

Both agents of a comparison learn in turn, in one process and on one thread; a ratio is the median over
rounds, so that what else the machine does meets both alike. What it may be at most stands beside it.
"""

import argparse
import importlib.util
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from benchmarks.plugins_fourroom import PlainVecEnv
from benchmarks.plugins_fourroom import agent as fourroom_agent
from benchmarks.plugins_offpolicy import mountain_cars
from gymnasium import spaces
from stable_baselines3 import PPO, SAC
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.vec_env import VecEnv

from rle.plugins.sb3 import (
    RLEPPO,
    LatentReplayBuffer,
    VecRandomLatentExploration,
    replaying,
)

GAME = "MontezumaRevenge-v5"
ATARI_ENVS, ATARI_ROLLOUT = 8, 128


@dataclass(frozen=True)
class Comparison:
    """Two agents that differ in one thing."""

    label: str
    plain: Callable[[], Any]
    explored: Callable[[], Any]
    steps: int
    """Of one round of one agent."""
    bar: float
    """The most that the ratio may be."""


class AtariVecEnv(PlainVecEnv):
    """EnvPool's game, whose episodes begin again in the step that ends them."""

    def __init__(self) -> None:
        import envpool

        self._pool = envpool.make(GAME, env_type="gymnasium", num_envs=ATARI_ENVS, num_threads=1)
        seen = self._pool.observation_space
        screen = spaces.Box(0, 255, seen.shape, np.uint8)
        super().__init__(ATARI_ENVS, screen, spaces.Discrete(int(self._pool.action_space.n)))

    def reset(self) -> Any:
        return self._pool.reset()[0]

    def step_async(self, actions: Any) -> None:
        self._actions = np.asarray(actions, np.int32)

    def step_wait(self) -> Any:
        screens, reward, terminated, truncated, _ = self._pool.step(self._actions)
        dones = terminated | truncated
        infos: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        if dones.any():
            screens = screens.copy()
            for index in np.flatnonzero(dones):
                infos[index] = {
                    "terminal_observation": screens[index].copy(),
                    "TimeLimit.truncated": bool(truncated[index] and not terminated[index]),
                }
                screens[index] = self._pool.reset(np.array([index]))[0][0]
        return screens, reward.astype(np.float32), dones, infos


def ordinary_rooms(num_envs: int) -> VecEnv:
    """`rle/FourRoom-v0` as Stable-Baselines3's users make it; as tensors, it takes hardly any time."""
    return make_vec_env("rle/FourRoom-v0", num_envs)


def default_agent(method: str) -> Any:
    """PPO with all numbers of Stable-Baselines3, on eight environments as its users make them."""
    env = ordinary_rooms(8)
    if method == "wrapper":
        env = VecRandomLatentExploration(env)
    return PPO("MlpPolicy", env, seed=0, device="cpu")


def atari_agent(method: str) -> Any:
    """PPO with the numbers of Stable-Baselines3's zoo, or `RLEPPO` with the same."""
    env: Any = AtariVecEnv()
    if method == "rleppo":
        env = VecRandomLatentExploration(env)
    return (RLEPPO if method == "rleppo" else PPO)(
        "CnnPolicy",
        env,
        n_steps=ATARI_ROLLOUT,
        batch_size=256,
        n_epochs=4,
        learning_rate=2.5e-4,
        clip_range=0.1,
        ent_coef=0.01,
        seed=0,
        device="cpu",
    )


def replay_agent(method: str) -> Any:
    """SAC of Stable-Baselines3's defaults in the wrapper, with its replay buffer or with ours."""
    env = VecRandomLatentExploration(mountain_cars(1))
    replay: dict[str, Any] = {}
    if method == "relabelled":
        shares = replaying(env, fresh=0.5, hindsight=0.5)
        replay = {"replay_buffer_class": LatentReplayBuffer, "replay_buffer_kwargs": shares}
    return SAC("MlpPolicy", env, buffer_size=100_000, seed=0, device="cpu", **replay)


COMPARISONS = {
    "fourroom-defaults": Comparison(
        "PPO's defaults, FourRoom, wrapper",
        lambda: default_agent("ppo"),
        lambda: default_agent("wrapper"),
        8 * 2048,
        1.10,
    ),
    "fourroom": Comparison(
        "PPO, FourRoom, wrapper",
        lambda: fourroom_agent("ppo", 0, ordinary_rooms)[0],
        lambda: fourroom_agent("wrapper", 0, ordinary_rooms)[0],
        4096,
        1.10,
    ),
    "fourroom-tensors": Comparison(
        "PPO, FourRoom as tensors, wrapper",
        lambda: fourroom_agent("ppo", 0)[0],
        lambda: fourroom_agent("wrapper", 0)[0],
        4096,
        1.10,
    ),
    "fourroom-rleppo": Comparison(
        "PPO, FourRoom as tensors, RLEPPO",
        lambda: fourroom_agent("ppo", 0)[0],
        lambda: fourroom_agent("rleppo", 0)[0],
        4096,
        1.10,
    ),
    "atari": Comparison(
        f"PPO, {GAME}, RLEPPO",
        lambda: atari_agent("ppo"),
        lambda: atari_agent("rleppo"),
        ATARI_ENVS * ATARI_ROLLOUT,
        1.06,
    ),
    "replay": Comparison(
        "SAC in the wrapper, LatentReplayBuffer",
        lambda: replay_agent("stored"),
        lambda: replay_agent("relabelled"),
        200,
        1.10,
    ),
}


def seconds(model: Any, steps: int) -> float:
    """CPU seconds per step, of steps that the agent goes on by."""
    before, started = model.num_timesteps, time.process_time()
    model.learn(steps, reset_num_timesteps=False)
    return (time.process_time() - started) / (model.num_timesteps - before)


def ratios(comparison: Comparison, rounds: int) -> list[float]:
    """One per round; a first one, in which much is set up, is not counted."""
    plain, explored = comparison.plain(), comparison.explored()
    found = []
    for number in range(rounds + 1):
        of_plain = seconds(plain, comparison.steps)
        of_explored = seconds(explored, comparison.steps)
        if number:
            found.append(of_explored / of_plain)
    return found


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--only", nargs="+", default=list(COMPARISONS), choices=COMPARISONS)
    known = parser.parse_args(arguments)
    torch.set_num_threads(1)
    print(f"{'':40s} {'ratio':>6s} {'lowest':>7s} {'highest':>8s} {'bar':>6s}")
    for name in known.only:
        comparison = COMPARISONS[name]
        if name == "atari" and importlib.util.find_spec("envpool") is None:
            print(f"{comparison.label:40s} left out: EnvPool is not installed.")
            continue
        found = ratios(comparison, known.rounds)
        numbers = f"{statistics.median(found):6.3f} {min(found):7.3f} {max(found):8.3f}"
        print(f"{comparison.label:40s} {numbers} {comparison.bar:6.2f}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
