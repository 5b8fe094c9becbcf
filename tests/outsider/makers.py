"""Functions as users bring them: single environments and vectors of them."""

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode, SyncVectorEnv, VectorEnv

from tests.probes.gymnasium_environments import Counting


class Show(gymnasium.Env):
    """Observes nothing but how it was made."""

    action_space = gymnasium.spaces.Discrete(2)

    def __init__(self, number=0.0, times=1):
        self.value = np.full(times, number, np.float32)
        self.observation_space = gymnasium.spaces.Box(-100.0, 100.0, (times,))

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return self.value.copy(), {}

    def step(self, action):
        return self.value.copy(), 1.0, False, False, {}


def counting(ending=(True, False)):
    return Counting(tuple(ending))


def same_each_time(environment=Counting()):  # noqa: B008
    return environment


def no_environment():
    return "a maze"


def vector_of_any_size(num_envs, mode="NextStep"):
    return SyncVectorEnv([Counting] * num_envs, autoreset_mode=AutoresetMode(mode))


def vector_of_three():
    return SyncVectorEnv([Counting] * 3)


def dictionaries(num_envs, mode="SameStep"):
    def make():
        return gymnasium.wrappers.TransformObservation(
            Counting(),
            lambda seen: {"where": seen, "what": 1},
            gymnasium.spaces.Dict(
                where=gymnasium.spaces.Box(0.0, np.inf, (2,)), what=gymnasium.spaces.Discrete(2)
            ),
        )

    return SyncVectorEnv([make] * num_envs, autoreset_mode=AutoresetMode(mode))


class Undecided(VectorEnv):
    """Does not say when its environments start again."""

    num_envs = 2
    single_observation_space = gymnasium.spaces.Box(-1.0, 1.0, (1,))
    single_action_space = gymnasium.spaces.Discrete(2)
