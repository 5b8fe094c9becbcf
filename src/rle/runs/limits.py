"""What the parts of training would take at the least on this machine.

Learning and acting cannot be faster than the matrix products of their networks, and no loop is faster
than the engine it waits for. All three are measured in the process that trains, with its threads.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.utils.flop_counter import FlopCounterMode

from rle.nets.actor_critic import ActorCritic
from rle.nets.precision import bfloat16_is_native
from rle.randomness import generator
from rle.runs.trainer import Trainer
from rle.tasks.base import Task, TaskSpec, random_actions
from rle.tasks.envpool import EnvPoolTask
from rle.tasks.normalise import NormalisedTask

SIDE = 256
"""Of the square matrices that are multiplied: three of them are 768 kB, which fits a core's cache."""
PRODUCT_SECONDS = 0.5
"""How long products are timed at the most: the fastest of thousands counts."""
ACTIONS = 64
"""Steps of random actions that are drawn before the engine is timed."""
SAMPLES = 2
"""What a network is counted with: PyTorch takes another way for a single one."""


class Limits(NamedTuple):
    """Seconds per agent step at the least, by the names of a round's parts."""

    products: dict[str, float]
    """Of the parts that multiply matrices: what these products would take by themselves."""
    engine: dict[str, float]
    """Of the part that waits for an engine: what that takes when nobody learns. Empty where the
    environment is computed together with the agent."""
    multiply_adds_per_second: float
    """At which the products were counted."""


def limits_of(trainer: Trainer, seconds: float) -> Limits:
    """Measure, the engine for about `seconds`; the trainer's environments are out of step afterwards."""
    half = trainer.config.machine.precision == "bfloat16" and bfloat16_is_native(trainer.device)
    rate = product_rate(
        torch.bfloat16 if half else torch.float32, trainer.device, min(seconds, PRODUCT_SECONDS)
    )
    counted = multiply_adds_per_step(trainer)
    task = trainer.task
    if task.traceable:
        counted["acting and environment"] = counted.pop("acting")
    engine = {} if task.traceable else {"environment": engine_seconds(task, seconds)}
    return Limits({part: count / rate for part, count in counted.items()}, engine, rate)


def product_rate(dtype: torch.dtype, device: torch.device, seconds: float) -> float:
    """Multiply-adds per second of `torch.matmul` at its best, within the cache."""
    left, right = (torch.rand(SIDE, SIDE, device=device).to(dtype) for _ in range(2))
    product = left @ right
    fastest, until = float("inf"), time.perf_counter() + seconds
    while time.perf_counter() < until:
        started = time.perf_counter()
        torch.matmul(left, right, out=product)
        if device.type == "cuda":
            torch.cuda.synchronize(device)
        fastest = min(fastest, time.perf_counter() - started)
    return SIDE**3 / fastest


def multiply_adds(compute: Callable[[], Any]) -> int:
    """How many multiplications, each with its addition, the matrix products in `compute` take."""
    with FlopCounterMode(display=False) as counter:
        compute()
    return int(counter.get_total_flops()) // 2


def multiply_adds_per_step(trainer: Trainer) -> dict[str, float]:
    """Multiply-adds of an agent step, by part: what it takes to act on, to pay and to learn from it."""
    network, spec = trainer.network, trainer.task.spec
    observation = _zeros(spec, trainer.device)
    size = trainer.strategy.input_size
    latent = torch.zeros(SAMPLES, size, device=trainer.device) if size else None
    learner = trainer.config.learner
    counted = {
        "learning": learner.epochs * _learning(network, observation, latent),
        "acting": multiply_adds(torch.no_grad()(lambda: network.act(observation, latent))),
    }
    features = getattr(trainer.strategy, "features", None)
    if isinstance(features, nn.Module):
        counted["bonus"] = multiply_adds(torch.no_grad()(lambda: features(observation)))
    return {part: count / SAMPLES for part, count in counted.items()}


def _zeros(spec: TaskSpec, device: torch.device) -> Tensor:
    shape = (SAMPLES, *spec.observation_shape)
    return torch.zeros(shape, dtype=spec.observation_dtype, device=device)


def _learning(network: ActorCritic, observation: Tensor, latent: Tensor | None) -> int:
    """Of one forward and backward pass."""

    def passes() -> None:
        with torch.enable_grad():
            output, values = network(observation, latent)
            total = output.sum() + values.sum()
        torch.autograd.grad(total, tuple(network.parameters()), allow_unused=True)

    return multiply_adds(passes)


def engine_seconds(task: Task, seconds: float) -> float:
    """Seconds per agent step of the engine alone, under random actions."""
    engine = task.shown if isinstance(task, NormalisedTask) else task
    source = generator(0, "engine alone")
    space, num_envs = task.spec.action_space, task.spec.num_envs
    actions = [random_actions(space, num_envs, source) for _ in range(ACTIONS)]
    step: Callable[[Any], Any] = engine.step
    given: list[Any] = actions
    if isinstance(engine, EnvPoolTask):
        # What the task does around EnvPool is ours.
        step, given = engine.engine.step, [engine._playable(action) for action in actions]
    made, started = 0, time.perf_counter()
    while time.perf_counter() - started < seconds:
        step(given[made % ACTIONS])
        made += 1
    return (time.perf_counter() - started) / (made * num_envs)
