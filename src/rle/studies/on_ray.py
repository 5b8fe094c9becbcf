"""Runs on a Ray cluster, or on a Ray of this machine (extra: ray). All nodes see the study's folder."""

from __future__ import annotations

import logging
import math
import socket
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from rle.checks import require
from rle.config import RunConfig
from rle.errors import RunError, UsageError
from rle.machine import cores
from rle.studies.executor import STOP_SECONDS, Ended, Job
from rle.studies.folder import say_in_log
from rle.studies.resources import Resources

LOCAL = "local"
"""The address that stands for a Ray of this machine, which ends with the study."""
KNOCK_SECONDS = 10.0


class RayExecutor:
    """As many runs side by side as the cluster has room for, each in a process that does `job`.

    Args:
        address: `local`, or where a cluster is: `host:port`, or `auto` on one of its machines.
        takes: what one run takes of a machine.
        job: what is done for a run.

    """

    def __init__(self, address: str, takes: Resources, job: Job) -> None:
        self._wanted = {"CPU": takes.cpus or 1, "GPU": takes.gpus, "memory": takes.memory}
        self._share = max(1, math.floor(self._wanted["CPU"]))
        self._ray = _connected(address)
        # A process of its own for each run, as in a study without Ray: none finds another's state. What
        # becomes of a run that died is the study's to decide.
        self._work = self._ray.remote(
            num_cpus=self._wanted["CPU"],
            num_gpus=takes.gpus,
            memory=takes.memory or None,
            max_calls=1,
            max_retries=0,
        )(_in_process)
        self._job = job
        self._active: dict[str, tuple[Any, Path]] = {}
        if self.slots() == 0:
            self._ray.shutdown()
            raise UsageError(
                f"no machine of the Ray cluster has {takes} for a run: give less with --cpus-per-run, "
                "--gpus-per-run and --memory-per-run."
            )

    def slots(self) -> int:
        alive = (node["Resources"] for node in self._ray.nodes() if node["Alive"])
        return room_for(alive, self._wanted)

    def submit(self, folder: str, config: RunConfig, path: Path) -> None:
        path = path.resolve()
        self._active[folder] = (self._work.remote(self._job, config, path, self._share), path)

    def wait(self, seconds: float) -> list[Ended]:
        if not self._active:
            time.sleep(seconds)
            return []
        running = [result for result, _ in self._active.values()]
        self._ray.wait(running, timeout=seconds)
        ready, _ = self._ray.wait(running, num_returns=len(running), timeout=0)
        over = [folder for folder, (result, _) in self._active.items() if result in ready]
        return [Ended(folder, died=self._died(*self._active.pop(folder))) for folder in over]

    def _died(self, result: Any, path: Path) -> bool:
        """Whether a run's process did not end by itself; the run's log then says what Ray knows of it.

        Raises:
            RunError: a machine does not see the study's folder; every run that it is given would fail.

        """
        try:
            sentence = self._ray.get(result)
        except self._ray.exceptions.RayError as error:
            say_in_log(path, f"rle: Ray ended it ({str(error).strip().splitlines()[0]}).")
            return True
        if sentence:
            raise RunError(sentence)
        return False

    def stop(self) -> None:
        running = [result for result, _ in self._active.values()]
        try:
            # Each takes it as it takes Ctrl-C: finish the iteration, write a checkpoint, end.
            for result in running:
                self._ray.cancel(result)
            self._unfinished(running, STOP_SECONDS)
        finally:
            # It took too long, or Ctrl-C came once more. Ray may still be noting down that a run has
            # ended, and would itself end if that were cancelled now.
            for result in self._unfinished(running):
                self._ray.cancel(result, force=True)
            self._ray.shutdown()

    def _unfinished(self, results: list[Any], seconds: float = 0) -> list[Any]:
        """Those that are not there after so long, or as soon as all are."""
        if not results:
            return []
        _, unfinished = self._ray.wait(results, num_returns=len(results), timeout=seconds)
        return list(unfinished)


def _in_process(job: Job, config: RunConfig, path: Path, share: int) -> str | None:
    return job(config, path, share)


def room_for(nodes: Iterable[Mapping[str, float]], wanted: Mapping[str, float]) -> int:
    """How many runs fit on machines with these resources: none is spread over two."""
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
    here: dict[str, Any] = (
        {"num_cpus": cores(), "include_dashboard": False} if address == LOCAL else {}
    )
    try:
        _knock(address)
        ray.init(address, log_to_driver=False, logging_level=logging.ERROR, **here)
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
