"""Gymnasium environments that show what a wrapper of Gymnasium environments does to them."""

from __future__ import annotations

import copy
import hashlib
import os
import random
import time
from typing import Any, ClassVar

import gymnasium
import numpy as np
from gymnasium import spaces

Outcome = tuple[Any, float, bool, bool, dict[str, Any]]

OFFSET_TABLE = spaces.MultiDiscrete([[2, 3, 4], [5, 1, 2]], np.int32, start=[[0, -1, 7], [0, 3, 0]])
"""Choices of several dimensions that do not count from 0."""


class Counting(gymnasium.Env[Any, Any]):
    """Observes (episode, step); each episode's length, 2 to 6, is drawn when it begins.

    Reward is 10 · step + action. `ending` says which flags the last step carries.
    """

    def __init__(self, ending: tuple[bool, bool] = (True, False)) -> None:
        self.observation_space = spaces.Box(0.0, np.inf, (2,), np.float32)
        self.action_space = spaces.Discrete(3)
        self.ending = ending
        self.episode = self.steps = 0
        self.length = 2

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        # Drawn, not counted: a counter that survives `reset` could not be restored from outside.
        self.episode = int(self.np_random.integers(1000))
        self.length = int(self.np_random.integers(2, 7))
        self.steps = 0
        return self.observe(), {}

    def observe(self) -> Any:
        return np.array([self.episode, self.steps], np.float32)

    def step(self, action: Any) -> Outcome:
        self.steps += 1
        terminated, truncated = self.ending if self.steps >= self.length else (False, False)
        return self.observe(), 10.0 * self.steps + float(action), terminated, truncated, {}


class Echo(gymnasium.Env[Any, Any]):
    """Observes the last action as it arrived here, as a vector; never ends by itself."""

    def __init__(self, action_space: spaces.Space[Any]) -> None:
        self.action_space = action_space
        self.size = int(np.prod(action_space.shape or ()))
        self.observation_space = spaces.Box(-np.inf, np.inf, (self.size,), np.float64)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        return np.zeros(self.size), {}

    def step(self, action: Any) -> Outcome:
        assert self.action_space.contains(action)
        assert action.dtype == self.action_space.dtype
        return np.asarray(action, np.float64).reshape(self.size), 0.0, False, False, {}


class Showing(gymnasium.Env[Any, Any]):
    """Observes one and the same member of any space."""

    def __init__(self, observation_space: spaces.Space[Any], observation: Any) -> None:
        self.observation_space = observation_space
        self.action_space = spaces.Discrete(2)
        self.observation = observation

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        return copy.deepcopy(self.observation), {}

    def step(self, action: Any) -> Outcome:
        return copy.deepcopy(self.observation), 0.0, False, False, {}


class Drifting(Counting):
    """Counting, except that a random number is drawn, and shown, at every step."""

    def observe(self) -> Any:
        return np.array([self.np_random.random(), self.steps], np.float32)


class Unrepeatable(Counting):
    """Counting, except that its observations come from a source of randomness no seed governs."""

    def observe(self) -> Any:
        return np.array([random.SystemRandom().random(), self.steps], np.float32)


class Filming(Counting):
    """Counting, in pictures: red is the episode, green the step, blue goes from left to right.

    `layout` is HWC, CHW, or HW, which shows the step alone.
    """

    def __init__(
        self,
        size: tuple[int, int] = (5, 6),
        layout: str = "HWC",
        ending: tuple[bool, bool] = (True, False),
    ) -> None:
        super().__init__(tuple(ending))
        self.size, self.layout = tuple(size), layout
        shape = {"HWC": (*self.size, 3), "CHW": (3, *self.size), "HW": self.size}[layout]
        self.observation_space = spaces.Box(0, 255, shape, np.uint8)

    def observe(self) -> Any:
        picture = np.zeros((*self.size, 3), np.uint8)
        picture[..., 0] = self.episode % 256
        picture[..., 1] = self.steps
        picture[..., 2] = np.arange(self.size[1])
        if self.layout == "HW":
            return picture[..., 1].copy()
        return picture if self.layout == "HWC" else np.moveaxis(picture, -1, 0).copy()


class Saying(Counting):
    """Counting, beside a sentence and a small picture."""

    def __init__(self, side: int = 7) -> None:
        super().__init__()
        self.observation_space = spaces.Dict(
            {
                "counts": spaces.Box(-9999.0, 9999.0, (2,)),
                "mission": spaces.Text(20),
                "view": spaces.Box(0, 255, (side, side, 3), np.uint8),
            }
        )
        self.side = side

    def observe(self) -> Any:
        return {
            "counts": super().observe(),
            "mission": "count",
            "view": np.full((self.side, self.side, 3), self.steps, np.uint8),
        }


class NeedsPackage(Counting):
    """Cannot be built, and says as Gymnasium's own environments do what to install."""

    def __init__(self) -> None:
        raise gymnasium.error.DependencyNotInstalled('run `pip install "gymnasium[box2d]"`')


class Poisoned(gymnasium.Env[Any, Any]):
    """Draws its observations and rewards; one of the environments spoils one of them, once.

    Which one, what and when is said beforehand by `poison`.
    """

    made = 0
    env, call, where, number = 0, 0, "", 0.0

    @classmethod
    def poison(cls, env: int, call: int, where: str, number: float) -> None:
        """Let the `env`-th environment from now on give `number` at its `call`-th call of `step`.

        `where` is `observation`, `reward`, `last observation` (the episode's), or `first observation`
        (the next episode's).
        """
        cls.made = 0
        cls.env, cls.call, cls.where, cls.number = env, call, where, number

    def __init__(self) -> None:
        self.observation_space = spaces.Box(-np.inf, np.inf, (2,), np.float32)
        self.action_space = spaces.Box(-1.0, 1.0, (1,), np.float32)
        self.own_number = type(self).made
        type(self).made += 1
        self.calls = 0

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        return self.observe(self.is_time("first observation")), {}

    def is_time(self, where: str) -> bool:
        return (self.own_number, self.calls, where) == (self.env, self.call, self.where)

    def observe(self, spoilt: bool) -> Any:
        observation = self.np_random.normal(size=2).astype(np.float32)
        if spoilt:
            observation[1] = self.number
        return observation

    def step(self, action: Any) -> Outcome:
        self.calls += 1
        terminated = self.is_time("first observation") or self.is_time("last observation")
        spoilt = self.is_time("observation") or self.is_time("last observation")
        reward = self.number if self.is_time("reward") else float(self.np_random.normal())
        return self.observe(spoilt), reward, terminated, False, {}


class Misbehaving(Poisoned):
    """Poisoned with what no environment may do, by `where`: the keys of `WRONG`, or one of these.

    `exception` raises one, `hang` sleeps for `number` seconds, `compute` does not even look at signals;
    with ` in reset` after it, the reset does so.
    """

    WRONG: ClassVar[dict[str, Outcome | tuple[Any, ...]]] = {
        "shape": (np.zeros(3, np.float32), 0.0, False, False, {}),
        "text": ("a text", 0.0, False, False, {}),
        "complex": (np.zeros(2, np.complex64), 0.0, False, False, {}),
        "ragged": ([[1.0], [1.0, 2.0]], 0.0, False, False, {}),
        "no reward": (np.zeros(2, np.float32), None, False, False, {}),
        "rewards": (np.zeros(2, np.float32), np.zeros(2), False, False, {}),
        "many ends": (np.zeros(2, np.float32), 0.0, np.zeros(2, bool), False, {}),
        "old": (np.zeros(2, np.float32), 0.0, False, {}),
        "too large": (np.array([0.0, 1e300]), 0.0, False, False, {}),
        "too much": (np.zeros(2, np.float32), 1e300, False, False, {}),
    }

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        self.fail(" in reset")
        return super().reset(seed=seed, options=options)

    def fail(self, call: str) -> None:
        if self.is_time("exception" + call):
            raise LookupError("the dice are\nlost")
        if self.is_time("hang" + call):
            time.sleep(self.number)
        if self.is_time("compute" + call):
            # In C, with no look at signals: minutes for 10^9 rounds.
            hashlib.pbkdf2_hmac("sha256", b"", b"", int(self.number))

    def step(self, action: Any) -> Any:
        outcome = super().step(action)
        self.fail("")
        # An episode that ends, so that the next call resets.
        if self.where.endswith(" in reset") and self.is_now():
            return (*outcome[:2], True, False, {})
        return self.WRONG[self.where] if self.where in self.WRONG and self.is_now() else outcome

    def is_now(self) -> bool:
        return self.is_time(self.where)


def misbehaving() -> Misbehaving:
    """For other processes, which find it by its module; what is wrong stands in the environment."""
    if "MISBEHAVE" in os.environ and Misbehaving.where == "":
        env, call, where, number = os.environ["MISBEHAVE"].split(",")
        Misbehaving.poison(int(env), int(call), where, float(number))
    return Misbehaving()


def register() -> None:
    """Make the ids `probe/...-v0` known to Gymnasium; calling it again changes nothing."""
    box = spaces.Box(-1.0, 1.0, (2,), np.float32)
    lopsided = spaces.Box(np.array([-1.0, -2.0]), np.array([1.0, 0.1]), dtype=np.float64)
    both = spaces.Dict({"place": box, "kind": spaces.Discrete(3)})
    wide = spaces.Dict({"place": spaces.Box(-9.0, 9.0, (2,)), "kind": spaces.Discrete(3)})
    place = np.array([0.25, -0.5], np.float32)
    environments: dict[str, tuple[Any, dict[str, Any]]] = {
        "Terminating": (Counting, {"ending": (True, False)}),
        "Truncating": (Counting, {"ending": (False, True)}),
        "EndingBothWays": (Counting, {"ending": (True, True)}),
        "Drifting": (Drifting, {}),
        "Filming": (Filming, {}),
        "Saying": (Saying, {}),
        "Unrepeatable": (Unrepeatable, {}),
        "Poisoned": (Poisoned, {}),
        "Misbehaving": (Misbehaving, {}),
        "NeedsPackage": (NeedsPackage, {}),
        "NeedsModule": ("a_package_nobody_has.environments:Environment", {}),
        "EchoBox": (Echo, {"action_space": lopsided}),
        "EchoSquare": (Echo, {"action_space": spaces.Box(-1.0, 1.0, (2, 2), np.float32)}),
        "EchoDiscrete": (Echo, {"action_space": spaces.Discrete(3, start=5)}),
        "EchoMultiDiscrete": (Echo, {"action_space": spaces.MultiDiscrete([3, 2])}),
        "EchoMultiDiscreteTable": (Echo, {"action_space": OFFSET_TABLE}),
        "EchoMultiBinary": (Echo, {"action_space": spaces.MultiBinary(3)}),
        "EchoMultiBinaryTable": (Echo, {"action_space": spaces.MultiBinary((2, 3))}),
        "EchoDict": (Echo, {"action_space": spaces.Dict({"a": spaces.Discrete(2)})}),
        "EchoTuple": (Echo, {"action_space": spaces.Tuple([spaces.Discrete(2), box])}),
        "EchoText": (Echo, {"action_space": spaces.Text(3)}),
        "EchoIntegerBox": (Echo, {"action_space": spaces.Box(0, 5, (2,), np.int64)}),
        "ShowDict": (
            Showing,
            {"observation_space": both, "observation": {"place": place, "kind": 2}},
        ),
        "ShowMeasured": (
            Showing,
            {"observation_space": wide, "observation": {"place": place, "kind": 2}},
        ),
        "ShowTuple": (
            Showing,
            {"observation_space": spaces.Tuple([box, box]), "observation": (place, -place)},
        ),
        "ShowDiscrete": (
            Showing,
            {"observation_space": spaces.Discrete(4), "observation": np.int64(1)},
        ),
    }
    for name, (entry_point, settings) in environments.items():
        env_id = f"probe/{name}-v0"
        if env_id not in gymnasium.registry:
            gymnasium.register(env_id, entry_point=entry_point, kwargs=settings)
