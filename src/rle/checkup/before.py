"""Before training: what random actions in a task say about it and about the strategy's settings."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from rle.agents.agent import Agent
from rle.agents.device import resolve_device
from rle.checkup.episodes import judge_ends, judge_length, judge_period, judge_repetition
from rle.checkup.play import first_observations, play, repeats_itself
from rle.checkup.rewards import judge_rewards
from rle.config import RunConfig
from rle.core.features import FeatureNetwork
from rle.errors import UsageError
from rle.explore.mixture import latent_strategy
from rle.explore.rle import RandomLatentExploration
from rle.findings.bonuses import judge_bonus
from rle.findings.features import judge_features, judge_units, relu_outputs
from rle.findings.finding import Finding, by_severity
from rle.findings.observations import judge_observations
from rle.idle import refuse_idle_settings
from rle.nets.images import ImageBody
from rle.nets.layers import MLP
from rle.nets.precision import resolved
from rle.randomness import generator
from rle.settings import replace
from rle.tasks.asked import Asked
from rle.tasks.base import Task
from rle.tasks.handed_over import handed_over
from rle.tasks.normalise import NormalisedTask
from rle.tasks.registry import make_task

ENVIRONMENTS = 8
"""How many play: few, so that each gets far enough to see episodes end."""
STATES = 1024
"""How many states F is judged in."""
LATENTS = 64
"""Under how many z: then its spread over z is known to a tenth."""
FEW_ENVIRONMENTS = 16
"""The paper's smallest number of z at a time is 32; of a dozen, networks learn what happened by chance
under each."""


def check_task(
    config: RunConfig,
    steps: int,
    env: Any = None,
    given: Iterable[str] = (),
    alone: bool = False,
) -> list[Finding]:
    """Play random steps with the settings of a run, and judge what comes up.

    Args:
        config: of the run that is to be.
        steps: how many to play, over all environments.
        env: what the task is, if that is an object without a name of its own.
        given: the settings that were given by name.
        alone: whether there is but one environment of it, which says nothing of the run to be.

    """
    device = resolve_device(config.machine.device)
    task = _task(config, env, device, alone)
    # Refused as in training: what would do nothing must not look as if it had been checked.
    refuse_idle_settings(config, task.spec, given)
    try:
        findings = _findings(config, task, steps, device)
    finally:
        if env is None or callable(env):  # and no object that its owner will go on using
            task.close()
    if config.rle is not None and config.rle.coefficient > 0 and not alone:
        findings.append(_judge_environments(config))
    return by_severity(findings)


def _task(config: RunConfig, env: Any, device: torch.device, alone: bool) -> Task:
    number = 1 if alone else min(config.environment.num_envs, ENVIRONMENTS)
    fewer = dataclasses.replace(config.environment, num_envs=number)
    if env is None:
        return make_task(config.task, fewer, device, engine_threads=config.machine.engine_threads)
    return handed_over(env, config.task, fewer, device)


def _findings(config: RunConfig, task: Task, steps: int, device: torch.device) -> list[Finding]:
    normaliser = task.normaliser if isinstance(task, NormalisedTask) else None
    engine = Asked(config.task, task.shown if isinstance(task, NormalisedTask) else task)
    if task.spec.is_image:
        precision = resolved(config.machine.precision, device)
        config = replace(config, {"precision": precision})
    agent = Agent(config, task.spec, device, normaliser)
    rows = max(steps // task.spec.num_envs, 2)
    try:
        repeats = repeats_itself(engine, config.seed, device)
        starts = first_observations(engine, config.seed)
        played = play(engine, agent, rows, config.seed)
    except UsageError as error:
        # It can be built and not be played: the sentence says what to mend.
        return [Finding("problem", "task", str(error))]
    rle = latent_strategy(agent.strategy)
    rle = rle if rle is not None and rle.streams else None
    findings = [
        *judge_observations(played.observations, _normalise(config)),
        *judge_rewards(config, played, agent.strategy.streams),
        *judge_ends(played.ends, starts),
        judge_length(played.lengths, rows, task.spec.num_envs),
        judge_repetition(repeats),
    ]
    if rle is not None:
        findings += [
            *_judge_latent_exploration(rle, played.observations, config),
            *judge_period(rle.config, played.lengths),
        ]
    return findings


def _normalise(config: RunConfig) -> str:
    if config.environment.normalise_observations:
        return (
            "scale it in the environment (what that declares to lie in [-1, 1] is not normalised)"
        )
    return "train with --normalise-observations True"


@torch.no_grad()
def _judge_latent_exploration(
    rle: RandomLatentExploration, observations: Tensor, config: RunConfig
) -> list[Finding]:
    """φ and F in some of the states that were seen."""
    source = generator(config.seed, "states to judge")
    finite = observations.flatten(1).float().isfinite().all(-1)
    observations = observations[finite]
    chosen = torch.randperm(len(observations), generator=source)[:STATES]
    states = observations[chosen.to(observations.device)]
    if len(states) < 2:
        return []
    inherited = rle.config.feature_hidden is None
    activation = config.network.activation if inherited else rle.config.feature_activation
    latents = rle.sample_latents(LATENTS, source).to(states.device)
    return [
        *judge_features(rle.features(states)),
        *judge_units(_hidden_outputs(rle.features, states, activation)),
        *judge_bonus(rle.reward_map(states, latents)),
    ]


def _hidden_outputs(features: nn.Module, states: Tensor, activation: str) -> list[Tensor]:
    """What the layers of ReLUs in φ put out, `[B, units]` each."""
    body = features.body if isinstance(features, FeatureNetwork) else features
    if isinstance(body, ImageBody):
        return [body(states)]
    if not isinstance(body, MLP):
        return relu_outputs(features, states)
    outputs, x = [], states
    for layer in body.layers if activation == "relu" else ():
        assert isinstance(layer, nn.Linear)
        x = functional.relu(functional.linear(x, layer.weight, layer.bias))
        outputs.append(x)
    return outputs


def _judge_environments(config: RunConfig) -> Finding:
    number = config.environment.num_envs
    if number >= FEW_ENVIRONMENTS:
        sentence = f"{number} environments follow {number} z at a time."
        return Finding("fine", "environments", sentence, float(number))
    sentence = (
        f"{number} environments follow {number} z at a time, few to learn from: raise --num-envs, to 32 "
        "if the machine can."
    )
    return Finding("notice", "environments", sentence, float(number))
