"""Stable-Baselines3's PPO as a peer that `rle bench` runs beside ours (extra: bench)."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
import torch
from gymnasium import spaces
from stable_baselines3 import PPO
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.vec_env import VecEnv, VecMonitor, VecNormalize

from rle.config import NetworkConfig, RunConfig
from rle.machine import cores
from rle.runs.rounds import Round, timed_round
from rle.tasks.envpool import EnvPoolTask
from rle.tasks.registry import make_task, suite_of

ACTIVATIONS = {"tanh": torch.nn.Tanh, "relu": torch.nn.ReLU, "elu": torch.nn.ELU}


class StableBaselinesContender:
    """The same batch sizes on the same environment, normalised alike; for vectors the same networks."""

    def __init__(self, config: RunConfig, warm_up: int) -> None:
        torch.set_num_threads(config.machine.threads or cores())
        environment = _environment(config)
        images = len(environment.observation_space.shape or ()) == 3
        ppo, network = config.learner, config.network
        self._batch = config.batch_size
        self._agent = PPO(
            "CnnPolicy" if images else "MlpPolicy",
            environment,
            learning_rate=ppo.learning_rate,
            n_steps=ppo.rollout_steps,
            batch_size=config.batch_size // ppo.minibatches,
            n_epochs=ppo.epochs,
            clip_range_vf=ppo.clip if ppo.clip_value_loss else None,
            policy_kwargs={} if images else _networks(network),
            device="cpu",
        )
        self._agent.learn(warm_up * self._batch)

    def _iterate(self) -> int:
        self._agent.learn(self._batch, reset_num_timesteps=False)
        return self._batch

    def run(self, seconds: float) -> Round:
        """Train for at least that long."""
        return timed_round(self._iterate, seconds)


def _networks(network: NetworkConfig) -> dict[str, Any]:
    return {
        "net_arch": {"pi": list(network.policy_hidden), "vf": list(network.value_hidden)},
        "activation_fn": ACTIVATIONS[network.activation],
        # A robot that shakes more falls sooner, and one on the ground takes another time to simulate.
        "log_std_init": math.log(network.initial_action_std),
    }


def _environment(config: RunConfig) -> VecEnv:
    environment = _engine(config)
    if not config.environment.normalise_observations:
        return environment
    return VecNormalize(
        environment,
        # What is encoded as zeros and ones is left as it is, as by ours, and so are images.
        norm_obs=isinstance(environment.observation_space, spaces.Box)
        and len(environment.observation_space.shape) != 3,
        norm_reward=config.learner.scale_reward,
        clip_obs=config.environment.observation_clip,
        clip_reward=config.learner.reward_clip or np.inf,
        gamma=config.learner.discount,
    )


def _engine(config: RunConfig) -> VecEnv:
    suite, name = suite_of(config.task)
    env_id = suite.gymnasium_id(name)
    if env_id is not None:
        return make_vec_env(
            env_id,
            n_envs=config.environment.num_envs,
            env_kwargs=dict(config.environment.env_kwargs),
        )
    plain = dataclasses.replace(config.environment, normalise_observations=False)
    task = make_task(
        config.task,
        plain,
        torch.device("cpu"),
        engine_threads=config.machine.engine_threads,
    )
    assert isinstance(task, EnvPoolTask)
    task.reset(config.seed)
    # Scores and lengths of episodes, which ours counts too; `make_vec_env` does it by itself.
    return VecMonitor(PoolEnv(task))


class PoolEnv(VecEnv):
    """The very EnvPool that our task steps. Its late resets cost the peer nothing, so they stay."""

    def __init__(self, task: EnvPoolTask) -> None:
        self._engine, self._layout = task.engine, task.layout
        self._images = task.spec.is_image
        observed = self._engine.single_observation_space
        if not self._images:
            observed = spaces.Box(-np.inf, np.inf, task.spec.observation_shape, np.float32)
        actions = self._engine.single_action_space
        self._kind = np.int32 if isinstance(actions, spaces.Discrete) else actions.dtype
        super().__init__(task.spec.num_envs, observed, actions)

    def _flat(self, observed: Any) -> Any:
        """Vectors `[N, size]`, the parts of a dictionary joined as our agents see them."""
        return observed if self._images else self._layout.tensor(observed).numpy()

    def reset(self) -> Any:
        return self._flat(self._engine.reset()[0])

    def step_async(self, actions: Any) -> None:
        self._actions = actions.astype(self._kind)

    def step_wait(self) -> Any:
        observed, reward, terminated, truncated, _ = self._engine.step(self._actions)
        observed = self._flat(observed)
        done = terminated | truncated
        infos: list[dict[str, Any]] = [{} for _ in done]
        for index in np.flatnonzero(done):
            infos[index]["terminal_observation"] = observed[index]
            infos[index]["TimeLimit.truncated"] = bool(truncated[index] and not terminated[index])
        return observed, reward, done, infos

    def close(self) -> None:
        self._engine.close()

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        return [None] * self.num_envs

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        raise NotImplementedError

    def env_method(
        self, method_name: str, *method_args: Any, indices: Any = None, **method_kwargs: Any
    ) -> list[Any]:
        raise NotImplementedError

    def env_is_wrapped(self, wrapper_class: Any, indices: Any = None) -> list[bool]:
        return [False] * self.num_envs
