"""The agent of a run directory, ready to act: no optimiser, no rollout, no environments."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import torch
from torch import Tensor

from rle.agents.agent import Agent
from rle.agents.device import resolve_device
from rle.agents.spec import spec_from_dict
from rle.config import RunConfig
from rle.runs.directory import RunDirectory
from rle.runs.trust import code_of_agent, code_of_run, require_trust
from rle.tasks.base import TaskSpec
from rle.tasks.normalise import ObservationNormaliser
from rle.tasks.registry import make_task

_BRANCHES = ("learner/network", "strategy", "task/moments")
"""What an agent takes of a checkpoint."""


def load(
    path: Path | str | RunDirectory,
    step: int | None = None,
    device: str | None = None,
    *,
    trust: bool = False,
) -> Agent:
    """The agent of a run as it stood at checkpoint `step`.

    Args:
        path: the run directory.
        step: of one of its checkpoints; None: the latest that is good.
        device: a PyTorch device, or auto; None: the one it was trained on.
        trust: run the code that the run names, if it names some that is not part of this package. Said
            once, it is remembered; runs that were trained here are trusted.

    """
    run = path if isinstance(path, RunDirectory) else RunDirectory.open(path)
    config = run.config()
    # A run that did not record its task has to ask it.
    code = code_of_run(config) if run.spec() is None else code_of_agent(config)
    require_trust(run, config, code, trust)
    place = resolve_device(config.machine.device if device is None else device)
    spec, as_is = _spec_of(run, config)
    normaliser = None
    if config.environment.normalise_observations and not spec.is_image:
        clip = config.environment.observation_clip
        normaliser = ObservationNormaliser(spec.observation_shape, clip, place, as_is)
    agent = Agent(config, spec, place, normaliser)
    if step is None:
        agent.trained_steps, state = run.load_latest(_BRANCHES)
    else:
        agent.trained_steps, state = step, run.load_checkpoint(step, _BRANCHES)
    agent.load_state_dict(state)
    return agent


def _spec_of(run: RunDirectory, config: RunConfig) -> tuple[TaskSpec, Tensor | None]:
    """What the run recorded of its task, or else what the task itself says."""
    recorded = run.spec()
    num_envs = config.environment.num_envs
    if recorded is not None:
        return spec_from_dict(recorded, num_envs)
    single = dataclasses.replace(config.environment, num_envs=1)
    task = make_task(config.task, single, torch.device("cpu"), engine_threads=1)
    task.close()
    return dataclasses.replace(task.spec, num_envs=num_envs), task.as_is
