"""Any EnvPool environment as a task: its spaces, its resets, its seeds."""

from __future__ import annotations

import ctypes
import os
import sys
import warnings
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from gymnasium import spaces
from torch import Tensor

from rle.checks import nearest, require
from rle.config import EnvironmentConfig
from rle.core.transfer import moved
from rle.errors import UsageError
from rle.machine import cores
from rle.modules import done_without
from rle.randomness import derive_seed
from rle.tasks.base import Discrete, Picture, State, Step, Task, TaskSpec, playable
from rle.tasks.spaces import action_space_of

SEED_RANGE = 2**31 - 2**20
"""EnvPool adds the environment's number to its seed, in 32 bits."""

PICTURES = {"render_mode": "rgb_array", "render_width": 420, "render_height": 315}
"""Small, since without a graphics card a picture of a robot takes a good part of a second."""

BUTTONS_TO_ACTIONS = "use_combined_action"
"""VizDoom's option that makes one action of each sensible combination of buttons."""

Array = npt.NDArray[Any]


def load_envpool(extra: str) -> Any:
    """The `envpool` module; without it, a `UsageError` that names the extra that installs it."""
    _load_graphics()
    try:
        # EnvPool would import JAX, if it is installed, for a way of stepping that we do not take: a
        # third of a second and 130 MB.
        with done_without("jax"):
            import envpool
    except ImportError as error:
        raise UsageError(
            "this task runs on EnvPool, which is not installed: "
            f'pip install "random-latent-exploration[{extra}]"'
        ) from error
    return envpool


@cache
def _load_graphics() -> bool:
    """Whether EnvPool can draw robots: it needs a library of the system, loaded before itself.

    Without it, EnvPool does not raise an error but ends the process.
    """
    if sys.platform != "linux":
        return True
    if "envpool" in sys.modules:
        return False
    try:
        ctypes.CDLL("libEGL.so.1", mode=ctypes.RTLD_GLOBAL)
    except OSError:
        return False
    return True


@cache
def envpool_ids() -> frozenset[str]:
    """Every environment that the installed EnvPool has."""
    return frozenset(load_envpool("envpool").list_all_envs())


def check_envpool_id(env_id: str) -> None:
    """Raise `UsageError` with the nearest id unless EnvPool has `env_id`."""
    if env_id not in envpool_ids():
        raise UsageError(
            f"there is no EnvPool environment {env_id!r}: {nearest(env_id, sorted(envpool_ids()))}"
        )


def _threads(num_envs: int, engine_threads: int) -> dict[str, int]:
    """EnvPool's options that say how many threads step the environments, and on which cores.

    Where this process has the machine to itself, every thread keeps to a core of its own: woken anew at
    every step, two would otherwise often start on one core, and the other would wait.
    """
    alone = engine_threads == 0 and cores() == os.cpu_count()
    threads = min(engine_threads or cores(), num_envs)
    return {"num_threads": threads, "thread_affinity_offset": 0 if alone else -1}


@contextmanager
def _missing_libraries(env_id: str) -> Iterator[None]:
    """Turn EnvPool's complaint about a library of the system into one sentence for the user."""
    try:
        yield
    except ImportError as error:
        if "Qt" in str(error):
            raise UsageError(
                f"envpool/{env_id} needs the Qt 5 libraries of the system: "
                "apt-get install libqt5gui5 (on Fedora: dnf install qt5-qtbase-gui)."
            ) from error
        raise UsageError(
            f"envpool/{env_id} needs something that is not installed: {' '.join(str(error).split())}"
        ) from error


class EnvPoolTask(Task):
    """N environments in EnvPool's threads.

    Observations are bytes `[N, C, H, W]` where the environment shows images, and else float32 vectors
    `[N, size]`, the parts of a dictionary (all of them, or those `observed`) in the order of its keys.

    Environment i takes the seed s + i, on whichever device it is. EnvPool takes s when it is built, so
    every `reset` builds it anew. It resets an environment on the call after an episode's end, ignoring
    that call's action: those entries are not `real`.
    """

    splits = True

    def __init__(
        self,
        env_id: str,
        config: EnvironmentConfig,
        device: torch.device,
        extra: str = "envpool",
        options: Mapping[str, Any] | None = None,
        observed: Collection[str] = (),
        pictures: bool = False,
        engine_threads: int = 0,
    ) -> None:
        self._envpool = load_envpool(extra)
        check_envpool_id(env_id)
        self._env_id = env_id
        self._device = device
        self._options: dict[str, Any] = {
            "num_envs": config.num_envs,
            **_threads(config.num_envs, engine_threads),
            **(options or {}),
        }
        self._time_limit = config.time_limit
        if config.time_limit is not None:
            self._options["max_episode_steps"] = config.time_limit
        if pictures:
            require(
                _load_graphics(),
                "filming this task needs OpenGL, known before EnvPool is: apt-get install libegl1, and "
                "import rle before envpool.",
            )
            self._options |= PICTURES
        with _missing_libraries(env_id):
            engine = self._envpool.make_spec(env_id, **self._options)
            if BUTTONS_TO_ACTIONS in engine.config._asdict():
                self._options[BUTTONS_TO_ACTIONS] = True
                engine = self._envpool.make_spec(env_id, **self._options)
        self.layout = self._layout_of(engine.gymnasium_observation_space, observed)
        """How the engine's observations become tensors."""
        self.spec = TaskSpec(
            config.num_envs,
            self.layout.shape,
            self.layout.dtype,
            action_space_of(f"envpool/{env_id}", engine.gymnasium_action_space),
            ones=self.layout.ones,
        )
        self._pool: Any = None
        self._seed = 0
        self._steps = 0
        self._no_transition = np.zeros(config.num_envs, dtype=np.bool_)
        """bool `[N]`: entries of the coming call that are not transitions."""
        self._lengths = np.zeros(config.num_envs, dtype=np.int64)
        """int64 `[N]`: steps of the episodes under way."""

    def _layout_of(self, space: spaces.Space[Any], observed: Collection[str]) -> Layout:
        return Layout(self._env_id, space, observed)

    @property
    def engine(self) -> Any:
        """The EnvPool itself, once the task was reset."""
        return self._pool

    def reset(self, seed: int) -> Tensor:
        self._seed, self._steps = seed, 0
        return self._build(seed)

    def _build(self, seed: int) -> Tensor:
        self.close()
        first = seed % SEED_RANGE + self.world.first_env
        with _missing_libraries(self._env_id):
            self._pool = self._envpool.make(
                self._env_id, env_type="gymnasium", seed=first, **self._options
            )
        self._no_transition = np.zeros_like(self._no_transition)
        self._lengths = np.zeros_like(self._lengths)
        observed, _ = self._pool.reset()
        return moved(self.layout.tensor(observed), self._device)

    def step(self, action: Tensor) -> Step:
        observed, reward, terminated, truncated, info = self._pool.step(self._playable(action))
        self._steps += 1
        skipped = self._no_transition
        require(
            reward.shape == skipped.shape,
            f"envpool/{self._env_id} rewards several players in one environment: give a task with one.",
        )
        self._check_time_limit(skipped)
        # Nothing comes after a termination, whether or not the time was up as well.
        truncated = truncated & ~terminated
        score, over = self._record(reward, terminated, truncated, info)
        self._no_transition = terminated | truncated
        if skipped.any():
            reward = np.where(skipped, 0, reward)
            # The first call of a resumed run steps new episodes, and even there nothing may end.
            terminated, truncated = terminated & ~skipped, truncated & ~skipped
            score, over = (
                None if part is None else np.where(skipped, 0, part) for part in (score, over)
            )
        observation = moved(self.layout.tensor(observed), self._device)
        return Step(
            self._tensor(reward).float(),
            self._tensor(terminated),
            self._tensor(truncated),
            # The coming call of an ended environment acts on its last observation and only resets.
            observation,
            observation,
            # Also where all are: what is compiled for a step then fits every step.
            self._tensor(~skipped),
            None if score is None else self._tensor(score).float(),
            None if over is None else self._tensor(over).bool(),
        )

    def _check_time_limit(self, skipped: Array) -> None:
        """Refuse a time limit that the engine does not keep: some of EnvPool's families have none."""
        self._lengths = np.where(skipped, 0, self._lengths + 1)
        # One of the families that do keep it ends an episode a step late.
        require(
            self._time_limit is None or bool(self._lengths.max() <= self._time_limit + 1),
            f"envpool/{self._env_id} goes on after {self._time_limit} steps, whatever time-limit says: "
            "leave time-limit out.",
        )

    def _record(
        self, reward: Array, terminated: Array, truncated: Array, info: Mapping[str, Any]
    ) -> tuple[Array | None, Array | None]:
        """What is reported, where that is not what the learner sees: scores `[N]`, ends `[N]`."""
        return None, None

    def _playable(self, action: Tensor) -> Array:
        """Turn the learner's actions into the engine's: it counts discrete ones in 32 bits."""
        space = self.spec.action_space
        values = playable(space, action)
        return values.astype(np.int32) if isinstance(space, Discrete) else values

    def _tensor(self, values: Array) -> Tensor:
        return moved(torch.from_numpy(np.array(values)), self._device)

    def picture(self) -> Picture:
        try:
            picture: Picture = self._pool.render(env_ids=0)[0]
        # EnvPool has an error of its own for every family that cannot draw.
        except Exception as error:
            raise UsageError(
                f"EnvPool cannot draw {self._env_id}: {' '.join(str(error).split())}"
            ) from error
        return picture

    def state_dict(self) -> State:
        """EnvPool cannot be copied: only where its random numbers come from, and how far it got."""
        return {"seed": self._seed, "steps": self._steps}

    def load_state_dict(self, state: State) -> None:
        """Start new episodes, with random numbers that the run has not used yet."""
        self._seed, self._steps = state["seed"], state["steps"]
        self._build(derive_seed(self._seed, f"resumed after {self._steps}"))
        # The next action was chosen for an episode that is gone.
        self._no_transition = np.ones_like(self._no_transition)
        self.restarted = True
        warnings.warn(
            f"EnvPool cannot save {self._env_id}, so this run goes on with new episodes; the agent "
            "goes on exactly where it stopped.",
            stacklevel=2,
        )

    def close(self) -> None:
        if self._pool is not None:
            self._pool.close()
            self._pool = None


class Layout:
    """How one environment's observations become one tensor."""

    ones: int | None = None
    """How many ones there are among zeros, if they are nothing else."""

    def __init__(
        self, env_id: str, space: spaces.Space[Any], observed: Collection[str] = ()
    ) -> None:
        parts = _leaves(space)
        self._parts = {name: parts[name] for name in parts if not observed or name in observed}
        for name, part in self._parts.items():
            if not isinstance(part, spaces.Box | spaces.Discrete):
                raise UsageError(
                    f"envpool/{env_id} has observations of the kind {type(part).__name__} at "
                    f"{name or 'the top'}: Box, Discrete and dictionaries of them are supported."
                )
        only = next(iter(self._parts.values())) if len(self._parts) == 1 else None
        self.shape: tuple[int, ...]
        if isinstance(only, spaces.Box) and only.dtype == np.uint8 and len(only.shape) == 3:
            self._image = True
            # Convolutions want channels first; what comes with at most four at the end has them there.
            self._channels_last = only.shape[-1] <= 4 < only.shape[0]
            rows, columns, channels = only.shape
            self.shape = (channels, rows, columns) if self._channels_last else only.shape
            self.dtype = torch.uint8
        else:
            self._image = False
            self.shape = (sum(int(np.prod(part.shape or ())) for part in self._parts.values()),)
            self.dtype = torch.float32

    def tensor(self, observed: Any) -> Tensor:
        """Observations of all environments, `[N, *shape]`; images are not copied."""
        if self._image:
            (name,) = self._parts
            image = torch.from_numpy(_leaf(observed, name))
            return image.permute(0, 3, 1, 2) if self._channels_last else image
        columns = []
        for name in self._parts:
            part = np.asarray(_leaf(observed, name))
            columns.append(part.reshape(len(part), -1).astype(np.float32))
        return torch.from_numpy(np.concatenate(columns, 1))


def _leaves(space: spaces.Space[Any], name: str = "") -> dict[str, spaces.Space[Any]]:
    """The parts of a nested dictionary of spaces by dotted names, in the order of their keys."""
    if not isinstance(space, spaces.Dict):
        return {name: space}
    found: dict[str, spaces.Space[Any]] = {}
    for key, part in space.spaces.items():
        found |= _leaves(part, f"{name}.{key}" if name else str(key))
    return found


def _leaf(observed: Any, name: str) -> Array:
    for key in name.split(".") if name else ():
        observed = observed[key]
    return observed
