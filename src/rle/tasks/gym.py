"""Any Gymnasium environment as a task: spaces, both auto-reset modes, exact resume."""

from __future__ import annotations

import json
import warnings
from typing import Any, SupportsFloat

import gymnasium
import numpy as np
import numpy.typing as npt
import torch
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from torch import Tensor

from rle.checks import closest
from rle.config import EnvironmentConfig
from rle.errors import UsageError
from rle.modules import import_named
from rle.tasks.base import Picture, State, Step, Task, TaskSpec
from rle.tasks.spaces import action_space_of, fit_as_it_is
from rle.tasks.suggest import suggest_task

SEED_RANGE = 2**31
"""Seeds given to environments lie below this: some libraries accept no more than 32 bits."""


def check_gym_id(env_id: str) -> None:
    """Raise `UsageError` with the nearest id unless `env_id` is registered with Gymnasium.

    As in Gymnasium, `module:id` imports the module that registers the id first.
    """
    module, _, name = env_id.rpartition(":")
    if module:
        import_named(module, f"gym/{env_id} is registered by a module")
    if name in gymnasium.registry:
        return
    if module:
        close = closest(name, gymnasium.registry)
        advice = f"did you mean 'gym/{module}:{close}'?" if close else "register it in that module."
        raise UsageError(f"the module {module!r} registers no environment {name!r}: {advice}")
    advice = suggest_task(f"gym/{name}") or (
        f"name the module that registers it, as in gym/my_module:{name or 'MyMaze-v0'}."
    )
    raise UsageError(f"there is no Gymnasium environment {name!r}: {advice}")


def _missing_package(env_id: str, error: Exception) -> str:
    # Gymnasium's own errors already name the command; Python's name only the module.
    if isinstance(error, ModuleNotFoundError) and error.name:
        package = error.name.partition(".")[0]
        return f"gym/{env_id} needs a package that is not installed: pip install {package}."
    return f"gym/{env_id} needs a package that is not installed: {_one_line(error)}"


def _one_line(thing: object) -> str:
    return " ".join(str(thing).split())


class GymTask(Task):
    """N copies of a Gymnasium environment, stepped in this process through `gymnasium.make_vec`.

    Observations are float32 vectors `[N, size]`: dictionaries, tuples, discrete observations and
    arrays of several dimensions are flattened. Actions are int64 `[N]` or float32 `[N, size]`; the
    latter are clipped to the environment's bounds here, unseen by the learner.
    """

    def __init__(
        self,
        env_id: str,
        config: EnvironmentConfig,
        device: str | torch.device,
        pictures: bool = False,
    ) -> None:
        check_gym_id(env_id)
        self._env_id = env_id
        self._device = torch.device(device)
        self._next_step = config.autoreset == "next-step"
        self._vector = _make_vector(env_id, config, pictures)
        self.steps_per_second = float(self._vector.metadata.get("render_fps") or 15)
        (size,) = self._vector.single_observation_space.shape or ()
        self.spec = TaskSpec(
            config.num_envs,
            (size,),
            torch.float32,
            action_space_of(f"gym/{env_id}", self._vector.single_action_space),
        )
        self.as_is = self._bool(fit_as_it_is(_unflattened(self._environments[0])))
        self._no_transition = np.zeros(config.num_envs, dtype=np.bool_)
        """bool `[N]`: entries of the coming call that are not transitions."""

    @property
    def _environments(self) -> list[Rewindable]:
        return self._vector.envs  # type: ignore[return-value]

    def reset(self, seed: int) -> Tensor:
        self._no_transition = np.zeros_like(self._no_transition)
        observation, _ = self._vector.reset(seed=seed % SEED_RANGE)
        return self._float(observation)

    def step(self, action: Tensor) -> Step:
        observed, reward, terminated, truncated, info = self._vector.step(self._playable(action))
        skipped = self._no_transition
        ended = terminated | truncated
        # In next-step mode the call after an episode's end ignores its action and only resets. What
        # it acts on is the last observation, so that the true next observation is in its place too.
        self._no_transition = ended if self._next_step else np.zeros_like(ended)
        observation = next_observation = self._float(observed)
        if not self._next_step and ended.any():
            next_observation = observation.clone()
            for index in np.flatnonzero(ended):
                next_observation[index] = self._float(info["final_obs"][index])
        real = None
        if skipped.any():
            real = torch.from_numpy(~skipped).to(self._device)
            reward, terminated, truncated = (
                np.where(skipped, 0, array) for array in (reward, terminated, truncated)
            )
        return Step(
            self._float(reward),
            self._bool(terminated),
            # Nothing comes after a termination, whether or not the time was up as well.
            self._bool(truncated) & ~self._bool(terminated),
            next_observation,
            observation,
            real,
        )

    def _playable(self, action: Tensor) -> npt.NDArray[Any]:
        """Turn the learner's actions into the environments': shifted, or shaped and clipped."""
        values = action.detach().cpu().numpy()
        space = self._vector.single_action_space
        if isinstance(space, spaces.Discrete):
            return np.asarray(values + space.start)
        assert isinstance(space, spaces.Box)
        # What made an action NaN is found out after the rollout; no environment shall choke on it.
        values = np.where(np.isnan(values), 0, values)
        values = values.astype(space.dtype).reshape(-1, *space.shape)
        clipped: npt.NDArray[Any] = np.clip(values, space.low, space.high)
        return clipped

    def _float(self, values: npt.NDArray[Any]) -> Tensor:
        # A copy in any case: the vector environment writes over its arrays.
        return torch.from_numpy(np.array(values, dtype=np.float32)).to(self._device)

    def _bool(self, values: npt.NDArray[Any]) -> Tensor:
        return torch.from_numpy(np.array(values, dtype=np.bool_)).to(self._device)

    def state_dict(self) -> State:
        return {
            "environments": [environment.state_dict() for environment in self._environments],
            "no_transition": torch.from_numpy(self._no_transition.copy()),
        }

    def load_state_dict(self, state: State) -> None:
        saved = state["environments"]
        exact = np.array(
            [env.load_state_dict(s) for env, s in zip(self._environments, saved, strict=True)]
        )
        pending = np.array([environment.ended for environment in self._environments])
        # Gymnasium has no public way to say that an environment waits for its reset.
        self._vector._autoreset_envs = pending & self._next_step
        # Where a new episode had to be started, the next action was meant for the old one.
        self._no_transition = state["no_transition"].numpy() | ~exact
        self.restarted = not exact.all()
        if self.restarted:
            warnings.warn(
                f"gym/{self._env_id} does not repeat itself under the same seed and actions, so "
                f"this run goes on with new episodes instead of exactly where it stopped.",
                stacklevel=2,
            )

    def picture(self) -> Picture:
        try:
            picture = self._environments[0].render()
        except (ImportError, gymnasium.error.DependencyNotInstalled) as error:
            raise UsageError(_missing_package(self._env_id, error)) from error
        if not isinstance(picture, np.ndarray):
            raise UsageError(f"gym/{self._env_id} does not draw itself and cannot be filmed.")
        return picture

    def close(self) -> None:
        self._vector.close()


def _make_vector(env_id: str, config: EnvironmentConfig, pictures: bool) -> SyncVectorEnv[Any, Any]:
    mode = AutoresetMode.NEXT_STEP if config.autoreset == "next-step" else AutoresetMode.SAME_STEP
    options: dict[str, Any] = {}
    if config.time_limit is not None:
        options["max_episode_steps"] = config.time_limit
    if pictures:
        options["render_mode"] = "rgb_array"
    try:
        vector = gymnasium.make_vec(
            env_id,
            num_envs=config.num_envs,
            vectorization_mode="sync",
            vector_kwargs={"autoreset_mode": mode, "copy": False},
            wrappers=[lambda environment: Rewindable(_flattened(env_id, environment))],
            **options,
        )
    except (ImportError, gymnasium.error.DependencyNotInstalled) as error:
        raise UsageError(_missing_package(env_id, error)) from error
    assert isinstance(vector, SyncVectorEnv)
    return vector


def _flattened(env_id: str, environment: gymnasium.Env[Any, Any]) -> gymnasium.Env[Any, Any]:
    space = environment.observation_space
    if isinstance(space, spaces.Box) and len(space.shape) == 1:
        return environment
    try:
        supported = isinstance(spaces.flatten_space(space), spaces.Box)
    except NotImplementedError:
        supported = False
    if not supported:
        raise UsageError(
            f"gym/{env_id} has observations in {_one_line(space)}, which do not fit one vector: "
            f"Box observations are supported, and Discrete, Dict and Tuple ones are flattened."
        )
    return gymnasium.wrappers.FlattenObservation(environment)


def _unflattened(environment: gymnasium.Wrapper[Any, Any, Any, Any]) -> spaces.Space[Any]:
    """The observation space as the environment's author wrote it."""
    inner = environment.env
    if isinstance(inner, gymnasium.wrappers.FlattenObservation):
        inner = inner.env
    return inner.observation_space


class Rewindable(gymnasium.Wrapper[Any, Any, Any, Any]):
    """An environment that can be saved as the way to its present: a random state and actions.

    Gymnasium has no way to copy an environment's state into a file. Playing the episode again from
    the random state before its reset needs none, and restores the counters of all wrappers as well.
    """

    def __init__(self, env: gymnasium.Env[Any, Any]) -> None:
        super().__init__(env)
        self.ended = False
        """Whether the episode is over and the environment waits for its reset."""
        self._seed = 0
        self._generator_before: str | None = None
        self._actions: list[Any] = []
        self._observation: npt.NDArray[Any] = np.zeros(0)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        if seed is not None:
            self._seed = seed
        self._generator_before = None if seed is not None else self._generator_state()
        self._actions = []
        self.ended = False
        self._observation, info = self.env.reset(seed=seed, options=options)
        return self._observation, info

    def step(self, action: Any) -> tuple[Any, SupportsFloat, bool, bool, dict[str, Any]]:
        self._actions.append(action)
        outcome = self.env.step(action)
        self._observation = outcome[0]
        self.ended = bool(outcome[2] or outcome[3])
        return outcome

    def _generator_state(self) -> str:
        # As text: its integers have 128 bits.
        state = self.unwrapped.np_random.bit_generator.state
        return json.dumps(state, default=np.ndarray.tolist)

    def _set_generator(self, state: str) -> None:
        # In place, for parts of an environment that share the generator.
        self.unwrapped.np_random.bit_generator.state = json.loads(state)

    def _flat_observation(self) -> Tensor:
        return torch.from_numpy(np.array(self._observation, dtype=np.float64))

    def state_dict(self) -> State:
        """Say how the episode began, and its actions `[steps, ...]` since."""
        space = self.action_space
        actions = np.array(self._actions, dtype=space.dtype).reshape(-1, *(space.shape or ()))
        return {
            "seed": self._seed,
            "generator_before": self._generator_before,
            "generator": self._generator_state(),
            "actions": torch.from_numpy(actions),
            "observation": self._flat_observation(),
        }

    def load_state_dict(self, state: State) -> bool:
        """Play the saved episode again; False, with a new episode, if that leads somewhere else."""
        self.reset(seed=state["seed"])
        if state["generator_before"] is not None:
            self._set_generator(state["generator_before"])
            self.reset()
        for action in state["actions"].numpy():
            if self.ended:
                break
            self.step(action)
        exact = len(self._actions) == len(state["actions"]) and torch.equal(
            self._flat_observation(), state["observation"]
        )
        # Exact or not, from here on the random numbers are those of the uninterrupted run.
        self._set_generator(state["generator"])
        if not exact:
            self.reset()
        return exact
