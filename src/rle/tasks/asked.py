"""Asking a task on behalf of a run: what its environments do wrong is told by environment and step."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

import torch
from torch import Tensor

from rle.errors import CompilerError, RunError, UsageError
from rle.tasks.base import MisbehaviourError, Picture, State, Step, Task, check_shape

LONGEST_REASON = 300
"""Signs of what an environment raised that are told; all of it is in its traceback."""


class Question(NamedTuple):
    """What a task has been asked and has not answered yet."""

    call: str
    """`reset`, `step`, or what else it is asked to do."""
    since: float
    """On the clock of `time.monotonic`."""
    step: int
    """Agent steps made, once it has answered."""


class Asked(Task):
    """A task that is asked; whatever its environments raise is a `RunError` that says where.

    A `UsageError` is left as it is: the task itself has found out what is wrong with the settings.
    """

    def __init__(self, name: str, task: Task, advice: str = "mend it.") -> None:
        """Speak of `task` as `name`, and say what to do when it fails."""
        self._name, self._task, self._advice = name, task, advice
        self.spec, self.as_is = task.spec, task.as_is
        self.steps_per_second = task.steps_per_second
        self._rows = torch.Size((task.spec.num_envs,))
        self._shown = torch.Size((task.spec.num_envs, *task.spec.observation_shape))
        self.made = 0
        """Agent steps made; `step` counts on from here."""
        self.question: Question | None = None
        """For other threads to read, while this one waits."""

    def reset(self, seed: int) -> Tensor:
        with self._answering("reset"):
            observation = self._task.reset(seed)
            self._check_observation(observation)
        return observation

    def step(self, action: Tensor) -> Step:
        after = self.made + self._task.world.all_of(self.spec.num_envs)
        self.question = Question("step", time.monotonic(), after)
        try:
            step = self._task.step(action)
            self._check_step(step)
        except Exception as error:
            raise self._failure(error, after) from error
        finally:
            self.question = None
        self.made = after
        return step

    def load_state_dict(self, state: State) -> None:
        """Let the environments go on: some do so by playing their episodes again."""
        with self._answering("resume", only_environments=True):
            self._task.load_state_dict(state)
        self.restarted = self._task.restarted

    def picture(self) -> Picture:
        return self._task.picture()

    def draw(self, steps: int) -> None:
        self._task.draw(steps)

    def state_dict(self) -> State:
        return self._task.state_dict()

    def busy(self) -> int | None:
        return self._task.busy()

    def close(self) -> None:
        self._task.close()

    @contextmanager
    def _answering(self, call: str, only_environments: bool = False) -> Iterator[None]:
        """While the task is asked for something that takes no step.

        With `only_environments`, what is raised while none of them was at it is left as it is.
        """
        self.question = Question(call, time.monotonic(), self.made)
        try:
            yield
        except Exception as error:
            if only_environments and self._task.busy() is None:
                raise
            raise self._failure(error, self.made) from error
        finally:
            self.question = None

    def who(self) -> str:
        """Whose turn it is, in words: an environment by its number, if the task knows it."""
        env = self._busy()
        return f"{'an environment' if env is None else f'environment {env}'} of {self._name}"

    def _busy(self) -> int | None:
        """Its number among all that the run has, on all devices."""
        env = self._task.busy()
        return None if env is None else self._task.world.first_env + env

    def _failure(self, error: Exception, step: int) -> Exception:
        if isinstance(error, UsageError | CompilerError):
            return error
        did = str(error) if isinstance(error, MisbehaviourError) else f"raised {_described(error)}"
        return RunError(
            f"{self.who()} {did} at step {step:,}: {self._advice}",
            {
                "what": did,
                "step": step,
                "environment": self._busy(),
                "exception": type(error).__name__,
            },
        )

    def _check_step(self, step: Step) -> None:
        self._check_observation(step.next_observation)
        # Most often they are one tensor.
        if step.observation is not step.next_observation:
            self._check_observation(step.observation)
        check_shape("rewards", step.reward, self._rows)
        for what, ends in (("terminations", step.terminated), ("truncations", step.truncated)):
            check_shape(what, ends, self._rows)
            _check_type(what, ends, torch.bool)

    def _check_observation(self, observation: Tensor) -> None:
        check_shape("observations", observation, self._shown)
        _check_type("observations", observation, self.spec.observation_dtype)


def _check_type(what: str, values: Tensor, dtype: torch.dtype) -> None:
    if values.dtype is not dtype:
        raise MisbehaviourError(f"gave {what} of the type {values.dtype} where {dtype} is due")


def _described(error: Exception) -> str:
    reason = " ".join(str(error).split())
    if len(reason) > LONGEST_REASON:
        reason = reason[:LONGEST_REASON] + "…"
    return f"{type(error).__name__} ({reason})" if reason else type(error).__name__
