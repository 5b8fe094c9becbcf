"""The processes of a run on several devices: the first leads, the others follow.

`--devices N` starts the others on this machine; under `torchrun`, on one host or several, they are there
already. The first builds the run, writes its folder and listens to signals. The others build the same
agent from what it sends them and do what it tells them, so that only one of them ever decides.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import timedelta
from pathlib import Path
from typing import IO, Any

import torch

from rle.config import RunConfig
from rle.errors import RunError, UsageError
from rle.runs.ranks.share import LOCAL_RANK, LOCAL_SIZE, require_devices, world_of
from rle.runs.state import bytes_state
from rle.runs.trainer import Trainer
from rle.settings import from_dict, replace, to_dict
from rle.world import FAILURE, World

BACKEND = "cpu:gloo,cuda:nccl"
HOST = "127.0.0.1"
PATIENCE = timedelta(minutes=30)
"""How long ranks wait for each other; one that ends is noticed at once."""
READY = "ready"
PORT, RANK = "RLE_PORT", "RLE_RANK"
"""Environment variables by which a rank that `--devices` started finds the first."""
END = "end"
KILLED_WITH_PARENT = 1
"""Linux's number for asking to be told when the parent process ends."""


def under_torchrun() -> bool:
    """Whether `torchrun` started this process, one of several."""
    parallel = torch.distributed.is_available() and torch.distributed.is_torchelastic_launched()
    return parallel and _launched("WORLD_SIZE") > 1


def _launched(name: str) -> int:
    return int(os.environ[name])


def follows() -> bool:
    """Whether another process leads the run that this one takes part in."""
    return under_torchrun() and _launched("RANK") > 0


def with_devices(config: RunConfig) -> RunConfig:
    """`config` on the devices that are there: under `torchrun`, as many as it has started ranks."""
    if under_torchrun():
        return replace(config, {"devices": _launched("WORLD_SIZE")})
    require_devices(config)
    return config


@contextmanager
def leading(trainer: Trainer) -> Iterator[None]:
    """Have all other ranks of the run there, and end them afterwards."""
    world = trainer.world
    if world.alone:
        yield
        return
    with ExitStack() as at_the_end:
        if under_torchrun():
            _connect(world, None)
        else:
            store = _store(0, leads=True)
            followers = at_the_end.enter_context(_followers(world, store.port))
            _wait_for(followers, world, store)
            _connect(world, store)
        at_the_end.callback(_disconnect, world)
        world.tell("be", json.dumps(to_dict(trainer.config)).encode())
        yield
        world.tell(END)


def _store(port: int, leads: bool) -> Any:
    """Where ranks on this machine find each other; port 0 takes a free one."""
    stores: Any = torch.distributed
    return stores.TCPStore(HOST, port, None, leads, PATIENCE, wait_for_workers=False)


def _connect(world: World, store: Any) -> None:
    """Join the process group; without a store, with what `torchrun` has put into the environment."""
    where = {} if store is None else {"store": store}
    torch.distributed.init_process_group(
        BACKEND if torch.cuda.is_available() else "gloo",
        rank=world.rank,
        world_size=world.size,
        timeout=PATIENCE,
        **where,
    )
    world.store = torch.distributed.distributed_c10d._get_default_store()


def _disconnect(world: World) -> None:
    world.store = None
    torch.distributed.destroy_process_group()


Followers = list[tuple[subprocess.Popen[bytes], IO[bytes]]]
"""Processes, each with the file that it writes what it has to say to."""


@contextmanager
def _followers(world: World, port: int) -> Iterator[Followers]:
    """All ranks but the first, on this machine; they do not outlive it."""
    # They find what this process finds.
    paths = os.pathsep.join(path or str(Path.cwd()) for path in sys.path)
    started: Followers = []
    log: IO[bytes]
    try:
        for rank in range(1, world.size):
            environment = os.environ | {
                "PYTHONPATH": paths,
                PORT: str(port),
                RANK: str(rank),
                LOCAL_RANK: str(rank),
                LOCAL_SIZE: str(world.size),
            }
            log = tempfile.TemporaryFile()  # noqa: SIM115  closed below
            command = [sys.executable, "-m", "rle.runs.ranks.processes", str(world.size)]
            process = subprocess.Popen(
                command, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )
            started.append((process, log))
        yield started
        for process, _ in started:
            process.wait(PATIENCE.total_seconds())
    finally:
        for process, log in started:
            process.kill()
            process.wait()
            log.close()


def _wait_for(followers: Followers, world: World, store: Any) -> None:
    """Wait until all have come up: one that does not would be waited for in vain."""
    keys = [f"{READY}/{rank}" for rank in range(1, world.size)]
    while not store.check(keys):
        for rank, (process, log) in enumerate(followers, start=1):
            if process.poll() is not None:
                log.seek(0)
                lines = log.read().decode(errors="replace").strip().splitlines()
                said = lines[-1] if lines else f"exit status {process.returncode}"
                raise RunError(f"device {rank} of {world.size} could not be started ({said}).")
        time.sleep(0.05)


def follow(rank: int, size: int, store: Any = None) -> None:
    """Take part in a run as one of its ranks but the first, until that has ended."""
    # Whether to stop is for the first rank to decide.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    world = World(rank, size)
    if store is not None:
        store.set(f"{READY}/{rank}", b"")
    _connect(world, store)
    try:
        _, said = world.hear()
        config = from_dict(json.loads(said))
        trainer = Trainer(config, world=_same_connection(world, config))
        _obey(trainer)
    except Exception as error:
        _tell_why(world, error)
        raise
    finally:
        torch.distributed.destroy_process_group()


def _same_connection(world: World, config: RunConfig) -> World:
    """The world with its share of the environments, once that is known."""
    full = world_of(config, world.rank)
    full.store = world.store
    return full


def _obey(trainer: Trainer) -> None:
    """Do what the first rank tells, until it says that the run has ended."""
    while True:
        word, data = trainer.world.hear()
        if word == END:
            trainer.task.close()
            return
        if word == "start":
            trainer.agent.load_state_dict(bytes_state(data))
            trainer.start()
        elif word == "load_state_dict":
            trainer.load_state_dict(bytes_state(data))
        else:
            getattr(trainer, word)()


def _tell_why(world: World, error: Exception) -> None:
    """Leave the reason where the first rank finds it."""
    if isinstance(error, UsageError):
        said = str(error)
    else:
        said = (
            f"device {world.rank} of {world.size} stopped ({type(error).__name__}: {error}): "
            "`rle resume RUN` goes on from the last checkpoint."
        )
    try:
        world.store.set(f"{FAILURE}/{world.rank}", said.encode())
    except RuntimeError:
        # The first rank is gone, and its store with it.
        return


def _end_with_parent() -> None:
    """Let the system end this process when the one that started it ends, however that happens."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(KILLED_WITH_PARENT, signal.SIGKILL)


def main() -> None:
    """Be the rank that `--devices` started."""
    _end_with_parent()
    size = int(sys.argv[1])
    follow(int(os.environ[RANK]), size, _store(int(os.environ[PORT]), leads=False))


if __name__ == "__main__":
    main()
