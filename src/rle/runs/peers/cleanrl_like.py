"""PPO as single-file scripts in CleanRL's manner have it: one flat loop in plain PyTorch (extra: bench).

A call that only resets an environment is learned from like any other, as such scripts do.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.distributions import Categorical, Independent, Normal

from rle.config import NetworkConfig, RunConfig
from rle.machine import cores
from rle.runs.peers.cleanrl_worlds import Worlds
from rle.runs.rounds import Round, timed_round
from rle.tasks.base import Continuous, TaskSpec

EPSILON = 1e-8
ACTIVATIONS = {"tanh": nn.Tanh, "relu": nn.ReLU, "elu": nn.ELU}
IMAGE_WIDTH = 512
"""Of the layer after the convolutions (Mnih et al. 2015)."""


def _initialised(layer: Any, gain: float = math.sqrt(2)) -> Any:
    nn.init.orthogonal_(layer.weight, gain)
    nn.init.zeros_(layer.bias)
    return layer


def _perceptron(
    inputs: int, hidden: tuple[int, ...], activation: str, outputs: int, gain: float
) -> nn.Sequential:
    layers: list[nn.Module] = []
    for before, after in itertools.pairwise((inputs, *hidden)):
        layers += [_initialised(nn.Linear(before, after)), ACTIVATIONS[activation]()]
    return nn.Sequential(*layers, _initialised(nn.Linear((inputs, *hidden)[-1], outputs), gain))


class _Bytes(nn.Module):
    def forward(self, image: Tensor) -> Tensor:
        return image.float() / 255


def _convolutions(shape: tuple[int, ...]) -> nn.Sequential:
    """The Nature network of an image of bytes `[C, H, W]`, up to its dense layer."""
    layers: list[nn.Module] = [_Bytes()]
    for channels, (outputs, kernel, stride) in zip(
        (shape[0], 32, 64), ((32, 8, 4), (64, 4, 2), (64, 3, 1)), strict=True
    ):
        layers += [_initialised(nn.Conv2d(channels, outputs, kernel, stride)), nn.ReLU()]
    layers.append(nn.Flatten())
    with torch.no_grad():
        flat = nn.Sequential(*layers)(torch.zeros(1, *shape)).shape[-1]
    return nn.Sequential(*layers, _initialised(nn.Linear(flat, IMAGE_WIDTH)), nn.ReLU())


class Agent(nn.Module):
    """Actor and critic: for vectors separate networks of our sizes, for images heads on one body."""

    def __init__(self, spec: TaskSpec, config: NetworkConfig) -> None:
        super().__init__()
        space = spec.action_space
        self.log_std: nn.Parameter | None = None
        if isinstance(space, Continuous):
            start = torch.full((space.size,), math.log(config.initial_action_std))
            self.log_std = nn.Parameter(start)
        outputs = space.size if isinstance(space, Continuous) else space.n  # type: ignore[union-attr]
        self.body: nn.Module = nn.Identity()
        policy, value = config.policy_hidden, config.value_hidden
        (width, *_) = spec.observation_shape
        if spec.is_image:
            self.body, width = _convolutions(spec.observation_shape), IMAGE_WIDTH
            policy = value = ()
        self.actor = _perceptron(width, policy, config.activation, outputs, 0.01)
        self.critic = _perceptron(width, value, config.activation, 1, config.value_gain)

    def value(self, observation: Tensor) -> Tensor:
        """Values `[B]`."""
        values: Tensor = self.critic(self.body(observation)).squeeze(-1)
        return values

    def forward(
        self, observation: Tensor, action: Tensor | None = None
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Actions, which are drawn unless given, their log-probabilities, entropies and values."""
        hidden = self.body(observation)
        output = self.actor(hidden)
        distribution: Any
        if self.log_std is None:
            distribution = Categorical(logits=output)
        else:
            std = self.log_std.exp().expand_as(output)
            distribution = Independent(Normal(output, std), 1)
        action = distribution.sample() if action is None else action
        values = self.critic(hidden).squeeze(-1)
        return action, distribution.log_prob(action), distribution.entropy(), values


class CleanRLLikeContender:
    """The same batch sizes on the same engine, normalised alike; for vectors the same networks."""

    def __init__(self, config: RunConfig, warm_up: int) -> None:
        torch.set_num_threads(config.machine.threads or cores())
        torch.manual_seed(config.seed)
        self._config = config.learner
        self._worlds = Worlds(config)
        spec = self._worlds.spec
        self.agent = Agent(spec, config.network)
        self._optimiser = torch.optim.Adam(
            self.agent.parameters(), self._config.learning_rate, eps=self._config.adam_epsilon
        )
        rows = (self._config.rollout_steps, spec.num_envs)
        continuous = isinstance(spec.action_space, Continuous)
        size = (spec.action_space.size,) if isinstance(spec.action_space, Continuous) else ()
        self._observations = torch.zeros(*rows, *spec.observation_shape).to(spec.observation_dtype)
        self._actions = torch.zeros(*rows, *size).to(torch.float32 if continuous else torch.int64)
        self._log_probabilities, self._rewards, self._dones, self._values = torch.zeros(4, *rows)
        self._observation, self._done = self._worlds.reset(), torch.zeros(spec.num_envs)
        self._order = np.arange(config.batch_size)
        self._generator = np.random.default_rng(config.seed)
        for _ in range(warm_up):
            self.iterate()

    def run(self, seconds: float) -> Round:
        """Train for at least that long."""
        return timed_round(self.iterate, seconds)

    def iterate(self) -> int:
        """One rollout and its gradient steps; returns how many agent steps it made."""
        for index in range(self._config.rollout_steps):
            self._observations[index], self._dones[index] = self._observation, self._done
            with torch.no_grad():
                action, log_probability, _, values = self.agent(self._observation)
            self._actions[index], self._log_probabilities[index] = action, log_probability
            self._values[index] = values
            self._observation, self._rewards[index], self._done = self._worlds.step(action)
        advantages = self._advantages()
        self._learn(advantages, advantages + self._values)
        return len(self._order)

    @torch.no_grad()
    def _advantages(self) -> Tensor:
        """`[T, N]`, backward over time."""
        config = self._config
        advantages, later = torch.zeros_like(self._rewards), torch.zeros_like(self._done)
        next_values, goes_on = self.agent.value(self._observation), 1 - self._done
        for index in reversed(range(config.rollout_steps)):
            ahead = config.discount * goes_on
            error = self._rewards[index] + ahead * next_values - self._values[index]
            advantages[index] = later = error + config.gae_lambda * ahead * later
            next_values, goes_on = self._values[index], 1 - self._dones[index]
        return advantages

    def _learn(self, advantages: Tensor, returns: Tensor) -> None:
        config = self._config
        rollout = (self._observations, self._actions, self._log_probabilities, self._values)
        stored = [part.flatten(0, 1) for part in (*rollout, advantages, returns)]
        size = len(self._order) // config.minibatches
        for _ in range(config.epochs):
            self._generator.shuffle(self._order)
            for first in range(0, len(self._order), size):
                rows = self._order[first : first + size]
                loss = self._loss(*(part[rows] for part in stored))
                self._optimiser.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(self.agent.parameters(), config.max_gradient_norm)
                self._optimiser.step()

    def _loss(
        self,
        observation: Tensor,
        action: Tensor,
        old_log_probability: Tensor,
        old_values: Tensor,
        advantage: Tensor,
        returns: Tensor,
    ) -> Tensor:
        config = self._config
        _, log_probability, entropy, values = self.agent(observation, action)
        ratio = (log_probability - old_log_probability).exp()
        if config.normalise_advantages:
            advantage = (advantage - advantage.mean()) / (advantage.std() + EPSILON)
        clipped = ratio.clamp(1 - config.clip, 1 + config.clip)
        policy_loss = torch.max(-advantage * ratio, -advantage * clipped).mean()
        error = (values - returns).square()
        if config.clip_value_loss:
            near = old_values + (values - old_values).clamp(-config.clip, config.clip)
            error = torch.max(error, (near - returns).square())
        value_loss = 0.5 * error.mean()
        bonus = config.entropy_coefficient * entropy.mean()
        loss: Tensor = policy_loss - bonus + config.value_coefficient * value_loss
        return loss
