"""Runs on a Ray cluster, or on a Ray of this machine (extra: ray). All nodes see the study's folder."""

from __future__ import annotations

import math
import socket
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from rle.checks import require, require_not_negative, require_positive
from rle.config import RunConfig
from rle.errors import UsageError
from rle.machine import cores
from rle.studies.executor import STOP_SECONDS
from rle.studies.folder import say_in_log
from rle.studies.worker import work

LOCAL = "local"
"""The address that stands for a Ray of this machine, which ends with the study."""
KNOCK_SECONDS = 10.0


class RayExecutor:
    """As many runs side by side as the cluster has room for, each with `cpus` and `gpus`.

    Args:
        address: `local`, or where a cluster is: `host:port`, or `auto` on one of its machines.
        cpus: CPUs that one run takes.
        gpus: GPUs that one run takes; a fraction shares one.

    """

    def __init__(self, address: str, cpus: float, gpus: float) -> None:
        require_positive("cpus-per-run", cpus)
        require_not_negative("gpus-per-run", gpus)
        for name, share in (("cpus-per-run", cpus), ("gpus-per-run", gpus)):
            require(
                share <= 1 or share % 1 == 0, f"{name} is {share:g}: above 1, give a whole number."
            )
        self._ray = _connected(address)
        self._cpus, self._gpus = cpus, gpus
        self._share = max(1, math.floor(cpus))
        # A process of its own for each run, as in a study without Ray: none finds another's state. What
        # becomes of a run that died is the study's to decide.
        self._work = self._ray.remote(num_cpus=cpus, num_gpus=gpus, max_calls=1, max_retries=0)(
            work
        )
        self._active: dict[str, tuple[Any, Path]] = {}
        if self.slots() == 0:
            self._ray.shutdown()
            raise UsageError(
                f"no machine of the Ray cluster has {cpus:g} CPUs and {gpus:g} GPUs for a run: give "
                "fewer with --cpus-per-run and --gpus-per-run."
            )

    def slots(self) -> int:
        alive = (node["Resources"] for node in self._ray.nodes() if node["Alive"])
        return room_for(alive, self._cpus, self._gpus)

    def submit(self, folder: str, config: RunConfig, path: Path) -> None:
        path = path.resolve()
        self._active[folder] = (self._work.remote(config, path, self._share), path)

    def wait(self, seconds: float) -> list[str]:
        if not self._active:
            time.sleep(seconds)
            return []
        running = [result for result, _ in self._active.values()]
        self._ray.wait(running, timeout=seconds)
        ready, _ = self._ray.wait(running, num_returns=len(running), timeout=0)
        ended = [folder for folder, (result, _) in self._active.items() if result in ready]
        for folder in ended:
            self._tell_of_death(*self._active.pop(folder))
        return ended

    def _tell_of_death(self, result: Any, path: Path) -> None:
        """Let the log of a run say what Ray knows of how its process ended."""
        try:
            self._ray.get(result)
        except self._ray.exceptions.RayError as error:
            path.parent.mkdir(parents=True, exist_ok=True)
            say_in_log(path, f"rle: Ray ended it ({str(error).strip().splitlines()[0]}).")

    def stop(self) -> None:
        running = [result for result, _ in self._active.values()]
        try:
            # Each takes it as it takes Ctrl-C: finish the iteration, write a checkpoint, end.
            for result in running:
                self._ray.cancel(result)
            if running:
                self._ray.wait(running, num_returns=len(running), timeout=STOP_SECONDS)
        finally:
            # It took too long, or Ctrl-C came once more.
            for result in running:
                self._ray.cancel(result, force=True)
            self._ray.shutdown()


def room_for(nodes: Iterable[Mapping[str, float]], cpus: float, gpus: float) -> int:
    """How many runs fit on machines with these resources: none is spread over two."""
    wanted = {"CPU": cpus, "GPU": gpus}
    return sum(
        min(math.floor(node.get(kind, 0.0) / share) for kind, share in wanted.items() if share > 0)
        for node in nodes
    )


def _connected(address: str) -> Any:
    """The library, connected to a cluster."""
    try:
        import ray
    except ImportError as error:
        raise UsageError(
            "--ray needs Ray, which is not installed: pip install 'random-latent-exploration[ray]'."
        ) from error
    require(address != "", "ray is '': give local, or the address of a cluster.")
    here = {"num_cpus": cores(), "include_dashboard": False} if address == LOCAL else {}
    try:
        _knock(address)
        ray.init(address, log_to_driver=False, logging_level="ERROR", **here)
    # Of an address that leads nowhere, it depends on its form which one it is.
    except (ConnectionError, ValueError, RuntimeError, OSError) as error:
        why = (str(error).strip().splitlines() or ["no reason given"])[0]
        raise UsageError(
            f"there is no Ray cluster at {address!r} ({why.rstrip('.')}): give the address that "
            "`ray start --head` printed, or local."
        ) from error
    return ray


def _knock(address: str) -> None:
    """Raise `OSError` if nobody listens there: Ray itself would say so after a minute, in many lines."""
    host, _, port = address.rpartition("://")[2].rpartition(":")
    if host and port.isdecimal():
        socket.create_connection((host, int(port) % 65536), KNOCK_SECONDS).close()
