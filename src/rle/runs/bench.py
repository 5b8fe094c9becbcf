"""Training speed on this machine, with Stable-Baselines3's PPO beside it as the peer."""

from __future__ import annotations

import importlib.util
import multiprocessing
import statistics
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from rle.checks import require_positive
from rle.config import RunConfig
from rle.errors import UsageError
from rle.idle import refuse_idle_settings
from rle.learn.compilation import compiler_available
from rle.machine import cores
from rle.presets import preset_config
from rle.runs.contenders import OurContender, Round, serve
from rle.runs.rates import RecordedRate, record_rate
from rle.settings import replace
from rle.tasks.base import TaskSpec
from rle.tasks.envpool import EnvPoolTask
from rle.tasks.normalise import NormalisedTask
from rle.tasks.registry import make_task, suite_of

PEER = "Stable-Baselines3 PPO"


class Rates:
    """One contender's rounds."""

    def __init__(self, label: str, rounds: Sequence[Round]) -> None:
        self.label, self.rounds = label, rounds
        self.rates = [measured.rate for measured in rounds]

    @property
    def median(self) -> float:
        """Median agent steps per second over the rounds."""
        return statistics.median(self.rates)

    @property
    def peak_memory(self) -> float:
        """Peak resident memory of its process, in bytes."""
        return max(measured.peak_memory for measured in self.rounds)

    @property
    def busy_cores(self) -> float:
        """How many cores it kept busy, on average."""
        measured = self.rounds
        return sum(m.core_seconds for m in measured) / sum(m.seconds for m in measured)

    def shares(self) -> str:
        """Where the time of its median round went, in words.

        Not that of all rounds: in one of them something may have been compiled.
        """
        typical = min(self.rounds, key=lambda measured: abs(measured.rate - self.median))
        return ", ".join(
            f"{part} {seconds / typical.seconds:.0%}" for part, seconds in typical.shares.items()
        )


def bench(
    task: str = "fourroom",
    settings: Mapping[str, Any] | None = None,
    preset: str | None = None,
    seconds: float = 2.0,
    peer: bool = True,
) -> str:
    """Measure `rle`, `none` and the peer in turns, each in its own process; returns a table.

    `preset` None is the task's default. `settings` changes it by name, as in `train`; those of RLE are
    RLE's alone. Rounds last at least `seconds`.

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
    contenders: dict[str, tuple[Callable[..., Any], RunConfig]] = {
        explore: (OurContender, config) for explore, config in ours.items()
    }
    if compile_setting == "on":
        plain = replace(ours["rle"], {"compile": "off"})
        contenders["rle, uncompiled"] = (OurContender, plain)
    has_peer = importlib.util.find_spec("stable_baselines3") is not None
    if peer and has_peer and _peer_plays(ours["none"]):
        from rle.runs.peer import PeerContender

        contenders[PEER] = (PeerContender, ours["none"])
    warm_up, rounds = (1, 3) if images else (5, 5)
    measured = _measure(contenders, seconds, warm_up, rounds)
    if not changes:
        # Studies run with the preset's own settings.
        rate = RecordedRate(round(measured[0].median, 1), round(measured[0].busy_cores, 2))
        record_rate(task, ours["rle"].preset, rate)
    threads = ours["rle"].machine.threads or cores()
    return _table(task, measured, threads, peer_missing=peer and not has_peer)


def _peer_plays(config: RunConfig) -> bool:
    """Whether the peer can play the same worlds: Gymnasium's, without wrappers, or EnvPool's."""
    suite, name = suite_of(config.task)
    if suite.gymnasium_id(name) is not None:
        return not config.environment.wrappers
    task = make_task(config.task, config.environment, torch.device("cpu"))
    task.close()
    engine = task.shown if isinstance(task, NormalisedTask) else task
    return isinstance(engine, EnvPoolTask)


def _spec_of(config: RunConfig) -> TaskSpec:
    """What the task's agents see and do."""
    task = make_task(config.task, config.environment, torch.device("cpu"))
    task.close()
    return task.spec


def _measure(
    contenders: dict[str, tuple[Callable[..., Any], RunConfig]],
    seconds: float,
    warm_up: int,
    rounds: int,
) -> list[Rates]:
    context = multiprocessing.get_context("spawn")
    pipes, processes = {}, []
    results: dict[str, list[Round]] = {label: [] for label in contenders}
    try:
        for label, (make, config) in contenders.items():
            pipes[label], theirs = context.Pipe()
            process = context.Process(
                target=serve, args=(theirs, make, config, warm_up), daemon=True
            )
            process.start()
            processes.append(process)
            # One after the other: nobody warms up while another does.
            _receive(pipes[label])
        for _ in range(rounds):
            for label, pipe in pipes.items():
                pipe.send(seconds)
                results[label].append(_receive(pipe))
    finally:
        for process in processes:
            process.terminate()
    return [Rates(label, found) for label, found in results.items()]


def _receive(pipe: Any) -> Any:
    try:
        answer = pipe.recv()
    except EOFError:
        raise UsageError(
            "a contender's process was killed, probably for want of memory: give a smaller --num-envs."
        ) from None
    if isinstance(answer, Exception):
        raise answer
    return answer


def _table(task: str, measured: list[Rates], threads: int, peer_missing: bool) -> str:
    base = measured[0]
    lines = [
        f"{task}: agent steps per second, median of {len(base.rounds)} rounds, one process, {threads} "
        f"PyTorch thread{'s' if threads > 1 else ''}, {base.busy_cores:.1f} cores busy",
        f"{'':24}{'steps/s':>10}{'lowest':>10}{'highest':>10}{'rle is':>10}{'memory':>10}",
    ]
    for rates in measured:
        ratio = statistics.median(a / b for a, b in zip(base.rates, rates.rates, strict=True))
        lines.append(
            f"{rates.label:24}{rates.median:>10,.0f}{min(rates.rates):>10,.0f}"
            f"{max(rates.rates):>10,.0f}{ratio:>9.2f}x{rates.peak_memory / 1e9:>7.2f} GB"
        )
    lines.append(f"rle spends its time on: {base.shares()}")
    if peer_missing:
        lines.append("no peer: pip install 'random-latent-exploration[sb3]'")
    return "\n".join(lines)
