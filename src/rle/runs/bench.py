"""Training speed on this machine, with other programs beside it as peers."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch

from rle.checks import require_positive
from rle.config import RunConfig
from rle.errors import UsageError
from rle.idle import refuse_idle_settings
from rle.learn.compilation import compiler_available
from rle.machine import cores
from rle.presets import preset_config
from rle.runs.bench_table import Rates, table
from rle.runs.contenders import OurContender
from rle.runs.limits import Limits
from rle.runs.peers.registry import invited
from rle.runs.rates import RecordedRate, record_rate
from rle.runs.rounds import MakeContender, serve
from rle.settings import replace
from rle.tasks.base import TaskSpec
from rle.tasks.registry import make_task

OURS = "rle"
"""The contender that all others are compared with."""

Contenders = Mapping[str, tuple[MakeContender, RunConfig]]


def bench(
    task: str = "fourroom",
    settings: Mapping[str, Any] | None = None,
    preset: str | None = None,
    seconds: float = 4.0,
    peer: bool = True,
) -> str:
    """Measure `rle`, `none` and all peers in turns, each in its own process; returns a table.

    `preset` None is the task's default. `settings` changes it by name, as in `train`; those of RLE are
    RLE's alone. Rounds last at least `seconds`. Without `peer`, ours are measured alone.

    Contenders take turns, round by round, because the speed of a shared machine drifts; the ratios
    are medians over rounds of the ratio within a round.
    """
    require_positive("seconds", seconds)
    changes = dict(settings or {})
    shared = {name: value for name, value in changes.items() if not name.startswith("rle.")}
    spec = _spec_of(replace(preset_config(task, "none", preset), shared))
    images = spec.is_image  # slow enough for few rounds, and nothing to compile
    compile_setting = "on" if compiler_available() and not images else "off"
    ours = {
        explore: replace(preset_config(task, explore, preset), {"compile": compile_setting, **own})
        for explore, own in (("rle", changes), ("none", shared))
    }
    refuse_idle_settings(ours["rle"], spec, changes)
    contenders: dict[str, tuple[MakeContender, RunConfig]] = {
        explore: (OurContender, config) for explore, config in ours.items()
    }
    if compile_setting == "on":
        plain = replace(ours["rle"], {"compile": "off"})
        contenders["rle, uncompiled"] = (OurContender, plain)
    missing: list[str] = []
    if peer:
        peers, missing = invited(ours)
        contenders |= {label: (found.contender, ours[found.explore]) for label, found in peers}
    warm_up, rounds = (1, 3) if images else (5, 5)
    measured, limits = _measure(contenders, seconds, warm_up, rounds)
    if not changes:
        # Studies run with the preset's own settings.
        rate = RecordedRate(round(measured[0].median, 1), round(measured[0].busy_cores, 2))
        record_rate(task, ours["rle"].preset, rate)
    return table(task, measured, ours["rle"].machine.threads or cores(), missing, limits)


def _spec_of(config: RunConfig) -> TaskSpec:
    """What the task's agents see and do."""
    task = make_task(config.task, config.environment, torch.device("cpu"))
    task.close()
    return task.spec


def _measure(
    contenders: Contenders, seconds: float, warm_up: int, rounds: int
) -> tuple[list[Rates], Limits]:
    """Everyone's rounds, and what ours would take at the least."""
    with _processes(contenders, warm_up) as pipes:
        found: dict[str, list[Any]] = {label: [] for label in contenders}
        for _ in range(rounds):
            for label, pipe in pipes.items():
                found[label].append(_asked(pipe, "run", seconds))
        limits: Limits = _asked(pipes[OURS], "limits", seconds)
    return [Rates(label, measured) for label, measured in found.items()], limits


@contextmanager
def _processes(contenders: Contenders, warm_up: int) -> Iterator[dict[str, Any]]:
    """Every contender built and warmed up in a process of its own; how to reach each."""
    context = multiprocessing.get_context("spawn")
    pipes, processes = {}, []
    try:
        for label, (make, config) in contenders.items():
            pipes[label], theirs = context.Pipe()
            process = context.Process(
                target=serve, args=(theirs, make, config, warm_up), daemon=True
            )
            process.start()
            theirs.close()
            processes.append(process)
            # One after the other: nobody warms up while another does.
            _answer(pipes[label])
        yield pipes
    finally:
        for process in processes:
            process.terminate()


def _asked(pipe: Any, method: str, *arguments: Any) -> Any:
    pipe.send((method, *arguments))
    return _answer(pipe)


def _answer(pipe: Any) -> Any:
    try:
        answer = pipe.recv()
    except EOFError:
        raise UsageError(
            "a contender's process was killed, probably for want of memory: give a smaller --num-envs."
        ) from None
    if isinstance(answer, Exception):
        raise answer
    return answer
