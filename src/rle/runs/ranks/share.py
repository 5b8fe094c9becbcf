"""A rank's share of a run: its device, its environments, its threads; and what cannot be shared."""

from __future__ import annotations

import dataclasses
import os

import torch

from rle.agents.device import resolve_device
from rle.checks import require
from rle.config import EnvironmentConfig, RunConfig
from rle.explore.base import Strategy
from rle.machine import cores
from rle.tasks.base import Task
from rle.world import ALONE, World

LOCAL_RANK, LOCAL_SIZE = "LOCAL_RANK", "LOCAL_WORLD_SIZE"
"""Environment variables with this process's number on its host, and how many there are, as torchrun
has them."""


def world_of(config: RunConfig, rank: int = 0) -> World:
    """Rank `rank` of a run on as many devices as `config` says, which must be able to share it."""
    size, num_envs = config.machine.devices, config.environment.num_envs
    if size == 1:
        return ALONE
    require(
        num_envs % size == 0,
        f"num-envs is {num_envs}, which {size} devices cannot share evenly: give a multiple of {size}.",
    )
    return World(rank, size, num_envs // size)


def require_devices(config: RunConfig) -> None:
    """Raise `UsageError` unless this machine has as many devices as `config` says."""
    size = config.machine.devices
    if size == 1:
        return
    kind = resolve_device(config.machine.device).type
    there = torch.cuda.device_count() if kind == "cuda" else cores()
    what = "GPUs" if kind == "cuda" else "CPU cores"
    require(
        size <= there,
        f"devices is {size}, and there are {there} {what} here: give at most {there}, or start the run "
        "with torchrun on several machines.",
    )


def ranks_here(world: World) -> int:
    """How many of the run's ranks share this machine."""
    return int(os.environ.get(LOCAL_SIZE, world.size))


def device_of(name: str, world: World) -> torch.device:
    """Where a rank computes: of several GPUs, on one of its own."""
    device = resolve_device(name)
    if world.alone or device.type != "cuda" or device.index is not None:
        return device
    return torch.device("cuda", int(os.environ.get(LOCAL_RANK, world.rank)))


def environments_here(config: EnvironmentConfig, world: World) -> EnvironmentConfig:
    """The environments of one rank."""
    return config if world.alone else dataclasses.replace(config, num_envs=world.envs_here)


def engine_threads(asked: int, world: World) -> int:
    """Threads of one rank's engine: together, the ranks here have no more than there are cores."""
    return asked if world.alone or asked else max(cores() // ranks_here(world), 1)


def require_splittable(config: RunConfig, task: Task, strategy: Strategy, world: World) -> None:
    """Raise `UsageError` unless what happens in an environment is the same on any device."""
    if world.alone:
        return
    for what, splits in ((config.task, task.splits), (config.explore, strategy.splits)):
        require(
            splits,
            f"{what} cannot be split over {world.size} devices (docs/scaling.md says what it takes): "
            "train it with --devices 1.",
        )
