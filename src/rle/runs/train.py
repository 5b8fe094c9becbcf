"""`train` and `resume`: a configuration becomes a run directory."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rle.config import RunConfig
from rle.explore.registry import check_strategy_name
from rle.idle import refuse_idle_settings
from rle.learn.compilation import should_compile
from rle.naming import folder_name
from rle.presets import preset_config
from rle.runs.directory import RunDirectory
from rle.runs.handed_over import trainer_of
from rle.runs.logging import RunLogger, load_tensorboard
from rle.runs.progress import progress_display
from rle.runs.trainer import Trainer
from rle.settings import replace
from rle.tasks.handed_over import is_found_by_name, name_of, size_of
from rle.tasks.registry import check_task_name


def train(
    task: Any,
    explore: str = "rle",
    *,
    preset: str | None = None,
    seed: int = 0,
    total_steps: int | None = None,
    out: Path | str | None = None,
    quiet: bool = False,
    **settings: Any,
) -> RunDirectory:
    """Train an agent and return its run directory.

    Args:
        task: a task name, see `rle list tasks`; or a function that makes a Gymnasium environment, a
            Gymnasium vector environment, or a `Task`.
        explore: a strategy, see `rle list strategies`, or `module:NAME` of your own.
        preset: `paper`, `released` or `desktop`; None: `paper`, and `desktop` on control/ tasks.
        out: the run directory to create; by default `runs/<task>-<explore>-seed<seed>`.
        settings: any setting by name; `__` stands for the dot (`rle__dimension=8`). One that would do
            nothing in this run is refused.

    Raises:
        UsageError: a name or a value is wrong; or an observation, a reward or the loss is not finite:
            the run is then not finished, and `resume` goes on from its last checkpoint.

    """
    name = name_of(task)
    if is_found_by_name(name):
        check_task_name(name)
    check_strategy_name(explore)
    config = preset_config(name, explore, preset)
    settings["seed"] = seed
    if total_steps is not None:
        settings["total_steps"] = total_steps
    size = size_of(task)
    if size is not None:
        settings.setdefault("num_envs", size)
    return train_config(replace(config, settings), out, quiet, given=settings, env=task)


def default_out(config: RunConfig) -> Path:
    """Where a run goes if nobody says."""
    return Path("runs") / folder_name(f"{config.task}-{config.explore}-seed{config.seed}")


def train_config(
    config: RunConfig,
    out: Path | str | None = None,
    quiet: bool = False,
    given: Iterable[str] = (),
    env: Any = None,
) -> RunDirectory:
    """Train what a complete configuration describes, on `env` if the task has no name of its own.

    Settings that differ from its preset, or were `given` by name, are refused where they do nothing.
    """
    # Decided once and recorded, so that a resumed run computes with the same kernels.
    config = replace(config, {"compile": "on" if should_compile(config) else "off"})
    if config.machine.tensorboard:
        load_tensorboard()  # says what is missing before anything is written
    trainer = trainer_of(config, env)
    config = trainer.config
    refuse_idle_settings(config, trainer.task.spec, given)
    run = RunDirectory.create(default_out(config) if out is None else Path(out), config)
    with run.locked():
        trainer.start()
        _run(trainer, run, quiet)
    return run


def resume(path: Path | str, quiet: bool = False, env: Any = None) -> RunDirectory:
    """Go on with an interrupted run from its latest checkpoint, bit for bit.

    `env` is what `train` was given, if that was an object: only its name is in the run directory.
    """
    run = RunDirectory.open(path)
    if run.finished() is not None:
        return run
    trainer = trainer_of(run.config(), env)
    with run.locked():
        if run.checkpoint_steps():
            trainer.load_state_dict(run.load_checkpoint())
        else:
            trainer.start()
        run.truncate_logs(trainer.iteration, trainer.step)
        _run(trainer, run, quiet)
    return run


def _run(trainer: Trainer, run: RunDirectory, quiet: bool) -> None:
    """Iterate until the run is done or interrupted; checkpoint on the way and at the end."""
    config = trainer.config
    logger = RunLogger(run, trainer.step, config.machine.tensorboard)
    label = f"{config.task} {config.explore} seed {config.seed}"
    display = progress_display(label, trainer.step, config.total_steps, quiet)
    interval = config.machine.checkpoint_every
    started, first_step = time.monotonic(), trainer.step
    try:
        with _finish_iteration_on_interrupt() as interrupted:
            while not trainer.done:
                before = trainer.step
                metrics, episodes = trainer.iterate()
                metrics["seconds"] = round(time.monotonic() - started, 3)
                logger.write(metrics, episodes, before, config.environment.num_envs)
                display.update(trainer.step, metrics)
                due = trainer.step // interval > before // interval
                if due or trainer.done or interrupted.is_set():
                    run.save_checkpoint(
                        trainer.step, trainer.state_dict(), trainer.task.artefacts()
                    )
                if interrupted.is_set() and not trainer.done:
                    raise KeyboardInterrupt
    finally:
        display.close()
        logger.close()
        trainer.task.close()
    seconds = time.monotonic() - started
    run.finish(
        {
            "step": trainer.step,
            "seconds": round(seconds, 3),
            "steps_per_second": round((trainer.step - first_step) / max(seconds, 1e-9), 1),
            "measures": trainer.task.measures(),
        }
    )


@contextmanager
def _finish_iteration_on_interrupt() -> Iterator[threading.Event]:
    """Turn Ctrl-C and SIGTERM into a flag that the loop reads between iterations."""
    event = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield event
        return
    previous = {
        number: signal.signal(number, lambda *_: event.set())
        for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        yield event
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
