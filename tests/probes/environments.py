"""Five probe tasks whose values are known, each needing one thing more of an agent than the last.

An agent that fails the first cannot fit a constant value; the second, cannot see; the third,
cannot discount; the fourth, cannot improve its policy; the fifth, cannot do all of it together.
Their actions are `Discrete(2)` and observations float32 `[N, 1]`. Two more have other actions, one
of them images.
"""

from __future__ import annotations

import torch
from torch import Tensor

from rle.randomness import generator, generator_state, restore_generator
from rle.tasks.base import (
    Continuous,
    Discrete,
    MultiDiscrete,
    State,
    Step,
    Task,
    TaskSpec,
    playable,
)


class Probe(Task):
    """What the five have in common: episodes of one step, which start at observation 0."""

    def __init__(self, num_envs: int) -> None:
        self.spec = TaskSpec(num_envs, (1,), torch.float32, Discrete(2))
        self._generator = generator(0, "environment")
        self._observation = torch.zeros(num_envs, 1)

    def first_observation(self) -> Tensor:
        """`[N, 1]`, what episodes start with."""
        return torch.zeros_like(self._observation)

    def reward(self, action: Tensor) -> Tensor:
        """float32 `[N]`, the reward of `action` `[N]` at the present observation."""
        raise NotImplementedError

    def reset(self, seed: int) -> Tensor:
        self._generator = generator(seed, "environment")
        self._observation = self.first_observation()
        return self._observation

    def step(self, action: Tensor) -> Step:
        reward = self.reward(action)
        terminated = torch.ones_like(reward, dtype=torch.bool)
        # Nothing can be bootstrapped from a terminal observation; a value far from all others would
        # give away an agent that tries.
        last_observation = torch.full_like(self._observation, 9.0)
        self._observation = self.first_observation()
        return Step(reward, terminated, ~terminated, last_observation, self._observation)

    def state_dict(self) -> State:
        return {
            "observation": self._observation,
            "generator": generator_state(self._generator),
        }

    def load_state_dict(self, state: State) -> None:
        self._observation = state["observation"].clone()
        self._generator = restore_generator(state["generator"])

    def _random_signs(self) -> Tensor:
        bits = torch.randint(0, 2, self._observation.shape, generator=self._generator)
        return bits.float() * 2 - 1


class ConstantReward(Probe):
    """One step, observation 0, reward 1 whatever is done: V(0) = 1."""

    def reward(self, action: Tensor) -> Tensor:
        return torch.ones(len(action))


class ObservationReward(Probe):
    """One step, observation -1 or +1 at random, which is the reward: V(-1) = -1, V(+1) = +1."""

    def first_observation(self) -> Tensor:
        return self._random_signs()

    def reward(self, action: Tensor) -> Tensor:
        return self._observation[:, 0].clone()


class DelayedReward(Probe):
    """Two steps, observation 0 then 1; reward 0 then 1: V(0) = γ, V(1) = 1."""

    def reward(self, action: Tensor) -> Tensor:
        return self._observation[:, 0].clone()

    def step(self, action: Tensor) -> Step:
        # All environments are always at the same step of their episodes.
        if bool((self._observation == 1).all()):
            return super().step(action)
        reward = self.reward(action)
        never = torch.zeros_like(reward, dtype=torch.bool)
        self._observation = torch.ones_like(self._observation)
        return Step(reward, never, never, self._observation, self._observation)


class ActionReward(Probe):
    """One step, observation 0; reward +1 for action 1, -1 for action 0.

    The best policy always takes action 1: V(0) = 1. A uniformly random one has V(0) = 0.
    """

    def reward(self, action: Tensor) -> Tensor:
        return action.float() * 2 - 1


class ActionObservationReward(Probe):
    """One step, observation -1 or +1 at random; reward +1 for the action that matches, else -1.

    Action 1 matches +1 and action 0 matches -1. The best policy has V(-1) = V(+1) = 1, a uniformly
    random one, and any that ignores the observation, a mean reward of 0.
    """

    def first_observation(self) -> Tensor:
        return self._random_signs()

    def reward(self, action: Tensor) -> Tensor:
        return (action.float() * 2 - 1) * self._observation[:, 0]


class CombinationReward(Probe):
    """One step, observation -1 or +1 at random; reward 1 for one combination of choices, else 0.

    It is the last of every choice at +1, and the first of every choice at -1. The best policy has the
    value 1; a uniformly random one has 1 in as many as there are combinations.
    """

    def __init__(self, num_envs: int, sizes: tuple[int, ...]) -> None:
        super().__init__(num_envs)
        self.spec = TaskSpec(num_envs, (1,), torch.float32, MultiDiscrete(sizes))
        self._last = torch.tensor(sizes) - 1

    def first_observation(self) -> Tensor:
        return self._random_signs()

    def reward(self, action: Tensor) -> Tensor:
        right = torch.where(self._observation > 0, self._last, 0)
        return (action == right).all(-1).float()


class Brightness(Probe):
    """One step, a black or a white image `[1, 36, 36]` at random, which asks for an action.

    Of continuous actions: the reward is minus the squared distance of the clipped action from -0.5
    (black) or +0.5 (white). Of choices: 1 for the first of each (black) or the last of each (white).
    """

    def __init__(self, num_envs: int, space: Continuous | MultiDiscrete) -> None:
        super().__init__(num_envs)
        self.spec = TaskSpec(num_envs, (1, 36, 36), torch.uint8, space)
        self._observation = torch.zeros(num_envs, 1, 36, 36, dtype=torch.uint8)

    def first_observation(self) -> Tensor:
        bits = torch.randint(0, 2, (len(self._observation),), generator=self._generator)
        return (255 * bits).byte()[:, None, None, None].expand(-1, 1, 36, 36)

    def reward(self, action: Tensor) -> Tensor:
        white = self._observation[:, 0, :1, 0] > 0
        taken = torch.from_numpy(playable(self.spec.action_space, action))
        if isinstance(self.spec.action_space, Continuous):
            return -(taken - torch.where(white, 0.5, -0.5)).square().sum(-1)
        last = torch.tensor(self.spec.action_space.sizes) - 1
        return (taken == torch.where(white, last, 0)).all(-1).float()


PROBES: tuple[type[Probe], ...] = (
    ConstantReward,
    ObservationReward,
    DelayedReward,
    ActionReward,
    ActionObservationReward,
)
