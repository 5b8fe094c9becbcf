"""Ranks of one run as threads of one process: quick to start, and each can be made deaf."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from rle.config import RunConfig
from rle.runs.trainer import Trainer
from rle.world import World

PATIENCE = 60.0


class Room:
    """Where ranks lay down what they have for each other."""

    def __init__(self, size: int) -> None:
        self.barrier = threading.Barrier(size, timeout=PATIENCE)
        self.table: list[Any] = [None] * size

    def exchange(self, rank: int, mine: Any) -> list[Any]:
        self.table[rank] = mine
        self.barrier.wait()
        everybodys = list(self.table)
        self.barrier.wait()
        return everybodys


class ThreadWorld(World):
    """A world whose ranks are threads; all do the same by themselves, so that nobody tells anything."""

    def __init__(self, rank: int, size: int, envs_here: int, room: Room) -> None:
        super().__init__(rank, size, envs_here)
        self.room = room

    def gather(self, part: Tensor, dim: int = 0) -> Tensor:
        return torch.cat(self.room.exchange(self.rank, part.clone()), dim)

    def sum(self, part: Tensor) -> Tensor:
        return torch.stack(self.room.exchange(self.rank, part.clone())).sum(0)

    def tell(self, word: str, data: bytes = b"") -> None:
        pass


def together(
    config: RunConfig,
    size: int,
    work: Callable[[Trainer], Any],
    prepare: Callable[[Trainer], None] = lambda trainer: None,
) -> list[Any]:
    """What `work` returns on each rank of `config`'s run, after `prepare` has seen its trainer."""
    room = Room(size)
    results: list[Any] = [None] * size
    errors: list[BaseException] = []
    # Building is not for threads: engines and generators of libraries are global.
    trainers = []
    for rank in range(size):
        world = ThreadWorld(rank, size, config.environment.num_envs // size, room)
        trainers.append(Trainer(config, world=world))
        prepare(trainers[-1])

    def run(rank: int) -> None:
        try:
            results[rank] = work(trainers[rank])
        except BaseException as error:
            errors.append(error)
            room.barrier.abort()

    threads = [threading.Thread(target=run, args=(rank,)) for rank in range(size)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for error in errors:
        if not isinstance(error, threading.BrokenBarrierError):
            raise error
    if errors:
        raise errors[0]
    return results
