"""The contract between environments and everything else: vectorised tasks on tensors.

Auto-reset conventions end here. Whatever the engine below does, a task hands out one `Step` per call
with the true next observation, the observation to act on, and which entries are real transitions.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from rle.errors import UsageError
from rle.tasks.images import ImageView
from rle.world import ALONE, World

State = dict[str, Any]
"""A tree of tensors, numbers, strings, lists and dictionaries: what a checkpoint can hold."""


@dataclass(frozen=True)
class Discrete:
    """One of `n` actions; action tensors are int64 `[N]`, and count from 0."""

    n: int
    start: int = 0
    """Where the environment counts from."""
    dtype: str = "int64"
    """Of an action in the environment, as NumPy calls it."""


@dataclass(frozen=True)
class MultiDiscrete:
    """Several choices at once, the i-th among `sizes[i]`; action tensors are int64 `[N, size]`.

    Each counts from 0. Choices of two are what Gymnasium calls `MultiBinary`.
    """

    sizes: tuple[int, ...]
    start: tuple[int, ...] | None = None
    """Where the environment counts each of them from; None: from 0."""
    shape: tuple[int, ...] | None = None
    """Of an action in the environment; None: a vector."""
    dtype: str = "int64"
    """Of an action in the environment, as NumPy calls it."""

    @property
    def size(self) -> int:
        """How many choices."""
        return len(self.sizes)


@dataclass(frozen=True)
class Continuous:
    """A vector of numbers; action tensors are float32 `[N, size]`, clipped to the bounds by the task."""

    low: tuple[float, ...]
    high: tuple[float, ...]
    shape: tuple[int, ...] | None = None
    """Of an action in the environment; None: a vector."""
    dtype: str = "float32"
    """Of an action in the environment, as NumPy calls it."""

    @property
    def size(self) -> int:
        """How many numbers."""
        return len(self.low)


ActionSpace = Discrete | MultiDiscrete | Continuous
"""What an agent may do at each step."""


def random_actions(space: ActionSpace, num_envs: int, generator: torch.Generator) -> Tensor:
    """Uniformly random actions `[N, ...]`; along an unbounded direction, standard normal ones."""
    if isinstance(space, Discrete):
        return torch.randint(0, space.n, (num_envs,), generator=generator)
    if isinstance(space, MultiDiscrete):
        choices = [torch.randint(0, n, (num_envs,), generator=generator) for n in space.sizes]
        return torch.stack(choices, -1)
    low, high = torch.tensor(space.low), torch.tensor(space.high)
    bounded = low.isfinite() & high.isfinite()
    uniform = torch.rand(num_envs, space.size, generator=generator)
    normal = torch.randn(num_envs, space.size, generator=generator)
    low, high = low.where(bounded, 0.0), high.where(bounded, 0.0)
    return torch.where(bounded, low + (high - low) * uniform, normal)


def playable(space: ActionSpace, action: Tensor) -> npt.NDArray[Any]:
    """The actions `[N, ...]` of a learner as environments take them.

    They count from where the environment does, lie within its bounds, and have its shape and type.
    """
    values = action.detach().cpu().numpy()
    if isinstance(space, Discrete):
        return np.asarray(values + space.start, dtype=space.dtype)
    shape = (space.size,) if space.shape is None else space.shape
    if isinstance(space, MultiDiscrete):
        values = values if space.start is None else values + np.array(space.start)
        return values.reshape(-1, *shape).astype(space.dtype)
    # What made an action NaN is found out after the rollout; no environment shall choke on it.
    values = np.where(np.isnan(values), 0, values).astype(space.dtype)
    low, high = (np.array(bound, dtype=space.dtype) for bound in (space.low, space.high))
    clipped: npt.NDArray[Any] = np.clip(values, low, high).reshape(-1, *shape)
    return clipped


@dataclass(frozen=True)
class TaskSpec:
    """What a learner needs to know of a task before it starts."""

    num_envs: int
    observation_shape: tuple[int, ...]
    observation_dtype: torch.dtype
    action_space: ActionSpace
    stacked_frames: int = 1
    """How many frames an image observation shows, one after the other along its channels."""
    image: ImageView | None = None
    """How images become observations, where an environment shows them in another way."""
    ones: int | None = None
    """How many ones there are in every observation that is acted on, all else being zeros; None: it is
    something else."""

    @property
    def is_image(self) -> bool:
        """Whether observations are bytes `[C, H, W]`."""
        return len(self.observation_shape) == 3


class Step(NamedTuple):
    """The outcome of one action in each of N environments."""

    reward: Tensor
    """float32 `[N]`, what the learner is rewarded with."""
    terminated: Tensor
    """bool `[N]`: the episode ended and nothing comes after."""
    truncated: Tensor
    """bool `[N]`: the episode was cut by a time limit; its value goes on."""
    next_observation: Tensor
    """`[N, ...]`, the TRUE next observation: an episode's last one, never the next episode's first."""
    observation: Tensor
    """`[N, ...]`, what to act on next: the next episode's first observation where one ended, unless
    the next call only resets."""
    real: Tensor | None = None
    """bool `[N]`: False where this call only reset the environment; None: all are real."""
    score: Tensor | None = None
    """float32 `[N]`, what is reported, if that is not the learner's reward (unclipped points)."""
    episode_over: Tensor | None = None
    """bool `[N]`: where a reported episode ended, if that is not terminated | truncated."""


class MisbehaviourError(Exception):
    """What an environment did that none may, as the rest of a sentence about it."""


def check_shape(what: str, values: Tensor, shape: tuple[int, ...]) -> None:
    """Raise `MisbehaviourError` unless `what` environments gave has the shape that is due."""
    if values.shape != shape:
        raise MisbehaviourError(
            f"gave {what} of the shape {tuple(values.shape)} where {tuple(shape)} is due"
        )


Picture = npt.NDArray[np.uint8]
"""`[height, width, 3]`."""


class Task(ABC):
    """A vectorised environment on tensors."""

    spec: TaskSpec
    traceable: bool = False
    """Whether `step` is nothing but tensor operations, which PyTorch can compile."""
    as_is: Tensor | None = None
    """bool, of an observation's shape: what normalisation leaves as it is; None: nothing."""
    restarted: bool = False
    """Whether `load_state_dict` had to start new episodes, because the engine cannot be saved."""

    steps_per_second: float = 15.0
    """How fast the world goes by when it is filmed."""
    splits: bool = False
    """Whether a run may split its environments over devices: what happens in one must not depend on
    which others are here, but for what the task asks `world` about."""
    per_environment: tuple[str, ...] = ()
    """The branches of `state_dict` that have an entry for each environment, and nothing else."""
    summed: tuple[str, ...] = ()
    """Those that count what happened in all environments."""
    world: World = ALONE
    """Which of the run's environments these are."""

    def join(self, world: World) -> None:
        """Be the part of the run that `world` says, from the next `reset` or `load_state_dict` on."""
        self.world = world

    def compile(self, compiled: Callable[[Callable[..., Any]], Callable[..., Any]]) -> None:
        """Pass what arithmetic on tensors the task does besides its engine through `compiled`."""

    def draw(self, steps: int) -> None:
        """Draw the randomness of the next `steps` steps at once; optional for the caller."""

    @abstractmethod
    def reset(self, seed: int) -> Tensor:
        """Start every environment afresh from `seed`; returns observations `[N, ...]`."""

    @abstractmethod
    def step(self, action: Tensor) -> Step:
        """Take one action in every environment."""

    @abstractmethod
    def state_dict(self) -> State:
        """All that is needed to go on exactly from here."""

    @abstractmethod
    def load_state_dict(self, state: State) -> None:
        """Go on from a state of `state_dict`."""

    def measures(self) -> dict[str, float]:
        """Numbers of the suite's own about everything visited so far, logged every iteration."""
        return {}

    def artefacts(self) -> dict[str, Tensor]:
        """Tensors of the suite's own that belong in the run directory (visitation counts)."""
        return {}

    def busy(self) -> int | None:
        """Which environment is called right now, or failed in the last call; None: nobody knows."""
        return None

    def picture(self) -> Picture:
        """What the first environment looks like now; only of tasks that were made with `pictures`."""
        raise UsageError(f"{type(self).__name__} has no pictures and cannot be filmed.")

    def close(self) -> None:
        """Release what the environments hold."""
