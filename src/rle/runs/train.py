"""`train` and `resume`: a configuration becomes a run directory."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

from rle.agents.spec import spec_to_dict
from rle.config import RunConfig
from rle.errors import CompilerError
from rle.explore.registry import check_strategy_name
from rle.idle import refuse_idle_settings
from rle.learn.compilation import compiler_available, how_to_compile
from rle.naming import folder_name
from rle.presets import preset_config
from rle.runs.callbacks import Callback
from rle.runs.directory import RunDirectory
from rle.runs.failure import explained
from rle.runs.going_on import keep_change, with_total_steps
from rle.runs.handed_over import trainer_of
from rle.runs.inheritance import inherit
from rle.runs.loading import load
from rle.runs.mending import mend, state_to_go_on_from
from rle.runs.notices import TellOfEndlessEpisodes, telling_of_silence
from rle.runs.origin import Origin, find_origin
from rle.runs.progress import ShowProgress
from rle.runs.ranks.processes import follow, follows, leading, with_devices
from rle.runs.saving import Saving
from rle.runs.sinks import SinkFactory, find_sink
from rle.runs.sinks.jsonl import JsonLines
from rle.runs.stopping import Wish, listening
from rle.runs.trainer import Trainer
from rle.runs.trust import remember, require_trust_to_play
from rle.settings import replace
from rle.tasks.base import Task
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
    callbacks: Sequence[Callback] = (),
    init_from: Path | str | None = None,
    trust: bool = False,
    **settings: Any,
) -> RunDirectory:
    """Train an agent and return its run directory.

    Args:
        task: a task name, see `rle list tasks`; or a function that makes a Gymnasium environment, a
            Gymnasium vector environment, or a `Task`.
        explore: a strategy, see `rle list strategies`, or `module:NAME` of your own.
        preset: `paper`, `released` or `desktop`; None: `paper`, and `desktop` on control/ and
            sparse/ tasks.
        out: the run directory to create; by default `runs/<task>-<explore>-seed<seed>`.
        callbacks: what else is to happen after each iteration. They are not recorded: give them to
            `resume` again. Sinks (`sinks=("tensorboard", "my_module:MySink")`) are.
        init_from: `RUN[@STEP]`, another run whose agent this one begins with, as it stood at a
            checkpoint: its networks, what its strategy has learned, its statistics of observations.
        trust: run the code that the run of `init_from` names, if that is not part of this package.
        settings: any setting by name; `__` stands for the dot (`rle__dimension=8`). One that would do
            nothing in this run is refused.

    Raises:
        UsageError: a name or a value is wrong.
        RunError: an environment raised an exception, or gave what it must not; an observation, a reward
            or the loss is not finite; the disk is full. The run is then not finished, and `resume` goes
            on from its last checkpoint.
        KeyboardInterrupt: Ctrl-C or SIGTERM, at the end of an iteration and with a checkpoint. A second
            signal, or an iteration that does not end, ends the process.

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
    return train_config(
        replace(config, settings),
        out,
        quiet,
        given=settings,
        env=task,
        callbacks=callbacks,
        init_from=init_from,
        trust=trust,
    )


def default_out(config: RunConfig) -> Path:
    """Where a run goes if nobody says."""
    return Path("runs") / folder_name(f"{config.task}-{config.explore}-seed{config.seed}")


def train_config(
    config: RunConfig,
    out: Path | str | None = None,
    quiet: bool = False,
    given: Iterable[str] = (),
    env: Any = None,
    callbacks: Sequence[Callback] = (),
    init_from: Path | str | None = None,
    trust: bool = False,
) -> RunDirectory:
    """Train what a complete configuration describes, on `env` if the task has no name of its own.

    Settings that differ from its preset, or were `given` by name, are refused where they do nothing.
    `init_from` is `RUN[@STEP]`, another run whose agent this one begins with; `trust` runs code that it
    names.
    """
    path = default_out(config) if out is None else Path(out)
    if follows():
        return _follow(path)
    try:
        with listening(quiet) as wish:
            return _train(config, path, quiet, given, env, callbacks, init_from, trust, wish)
    except CompilerError as error:
        _stop_compiling(RunDirectory.open(path), str(error))
    return resume(path, quiet, env, callbacks, trust=trust)


def _train(
    config: RunConfig,
    path: Path,
    quiet: bool,
    given: Iterable[str],
    env: Any,
    callbacks: Sequence[Callback],
    init_from: Path | str | None,
    trust: bool,
    wish: Wish,
) -> RunDirectory:
    origin = None if init_from is None else find_origin(init_from)
    config = with_devices(config)
    # Decided once and recorded, so that a resumed run computes with the same kernels.
    config = replace(config, {"compile": how_to_compile(config)})
    sinks = [find_sink(name) for name in config.machine.sinks]  # before anything is written
    trainer = trainer_of(config, env)
    config = trainer.config
    refuse_idle_settings(config, trainer.task.spec, given)
    with explained(path):
        if origin is None:
            run = RunDirectory.create(path, config)
        else:
            run = _create_from(origin, path, trainer, quiet, trust)
        remember(run, config)
        with run.locked(), telling_of_silence(trainer.asked, quiet), leading(trainer):
            _keep_spec(run, trainer)
            trainer.start()
            _run(trainer, run, _all_callbacks(run, config, sinks, callbacks, quiet), wish)
    return run


def _create_from(
    origin: Origin, path: Path, trainer: Trainer, quiet: bool, trust: bool
) -> RunDirectory:
    """A run that begins with another's agent; from here on it does not need the other any more."""
    agent = trainer.agent
    source = load(origin.run, origin.step, trainer.config.machine.device, trust=trust)
    inherited = inherit(agent, source, str(origin))
    record = origin.record() | inherited._asdict()
    run = RunDirectory.create(path, trainer.config, record, agent.state_dict())
    _say(inherited.sentence(str(origin)), quiet)
    return run


def resume(
    path: Path | str,
    quiet: bool = False,
    env: Any = None,
    callbacks: Sequence[Callback] = (),
    *,
    total_steps: int | None = None,
    devices: int | None = None,
    trust: bool = False,
) -> RunDirectory:
    """Go on with an interrupted run from its latest good checkpoint, bit for bit.

    What is wrong with its files is said, and kept in `incidents.json`. Without any good checkpoint it
    starts again from its beginning.

    Args:
        path: the run directory.
        env: what `train` was given, if that was an object: only its name is in the run directory.
        callbacks: those of `train`, which are not recorded; the run's sinks go on by themselves.
        total_steps: lets the run, finished or not, go on to another number of steps. What is then not
            as in a run that was this long from the start is said, and kept in `changes.json`.
        devices: lets the run go on on another number of devices, and remember it.
        trust: run the code that the run names, if it names some that is not part of this package. Said
            once, it is remembered; runs that were trained here are trusted.

    """
    if follows():
        return _follow(Path(path))
    run = RunDirectory.open(path)
    if total_steps is None and run.finished() is not None:
        return run
    try:
        _resume(run, quiet, env, callbacks, total_steps, devices, trust)
    except CompilerError as error:
        _stop_compiling(run, str(error))
        # What was let go on to other steps may be so already.
        longer = None if run.config().total_steps == total_steps else total_steps
        _resume(run, quiet, env, callbacks, longer, devices, trust)
    return run


def _follow(path: Path) -> RunDirectory:
    """Take part in the run that another process leads, and writes to `path`."""
    follow(int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"]))
    return RunDirectory(path)


def _resume(
    run: RunDirectory,
    quiet: bool,
    env: Any,
    callbacks: Sequence[Callback],
    total_steps: int | None,
    devices: int | None,
    trust: bool,
) -> None:
    with listening(quiet) as wish, explained(run.path), run.locked(), ExitStack() as watched:
        config = run.config() if total_steps is None else with_total_steps(run, total_steps)
        require_trust_to_play(run, trust, env)
        config = _on_devices(run, config, devices)
        if config.machine.compile != "off" and not compiler_available():
            _stop_compiling(run, "there is no C++ compiler here")
            config = replace(config, {"compile": "off"})
        sinks = [find_sink(name) for name in config.machine.sinks]
        trainer = trainer_of(config, env)
        watched.enter_context(telling_of_silence(trainer.asked, quiet))
        watched.enter_context(leading(trainer))
        state, problems = state_to_go_on_from(run)
        if state is not None:
            trainer.load_state_dict(state)
        else:
            initial = run.load_initial()
            if initial is not None:
                trainer.agent.load_state_dict(initial)
            trainer.start()
        # Only now: what cannot go on is left as it was.
        mend(run, trainer.iteration, trainer.step, problems)
        run.keep_meta(config)
        if total_steps is not None:
            _say(keep_change(run, trainer), quiet)
        _keep_spec(run, trainer)
        _run(trainer, run, _all_callbacks(run, config, sinks, callbacks, quiet), wish)


def _on_devices(run: RunDirectory, config: RunConfig, devices: int | None) -> RunConfig:
    """The run on another number of devices, if that is asked for, which it then remembers."""
    asked = config if devices is None else replace(config, {"devices": devices})
    asked = with_devices(asked)
    if asked.machine.devices != config.machine.devices:
        run.save_config(asked)
    return asked


def _stop_compiling(run: RunDirectory, reason: str) -> None:
    """Let the run be one that is not compiled, from its last checkpoint on."""
    config = run.config()
    run.save_config(replace(config, {"compile": "off"}))
    warnings.warn(
        f"{config.task} cannot be compiled ({reason}): the run goes on uncompiled, at about half the "
        "speed, and its config.json says so.",
        stacklevel=2,
    )


def _say(sentence: str | None, quiet: bool) -> None:
    if sentence is not None and not quiet:
        print(sentence, flush=True)


def _keep_spec(run: RunDirectory, trainer: Trainer) -> None:
    """Let agents be built from the run directory alone."""
    run.save_spec(spec_to_dict(trainer.task.spec, trainer.task.as_is))


def _all_callbacks(
    run: RunDirectory,
    config: RunConfig,
    sinks: Iterable[SinkFactory],
    callbacks: Sequence[Callback],
    quiet: bool,
) -> list[Callback]:
    """In the order in which they are called, after the run's own log."""
    shown: list[Callback] = [] if quiet else [ShowProgress(), TellOfEndlessEpisodes()]
    return [*shown, *(sink(run, config) for sink in sinks), *callbacks]


def _close_after(task: Task, _: Any, error: BaseException | None, __: Any) -> None:
    """Release the environments, unless the run goes on with them uncompiled."""
    if not isinstance(error, CompilerError):
        task.close()


def _run(trainer: Trainer, run: RunDirectory, callbacks: Sequence[Callback], wish: Wish) -> None:
    """Iterate until the run is done or interrupted; checkpoint on the way and at the end."""
    log = JsonLines()  # First: what is on the disk is there for all others.
    saving = Saving(run, trainer, log)
    started, first_step = time.monotonic(), trainer.step
    with ExitStack() as at_the_end:
        at_the_end.push(partial(_close_after, trainer.task))
        for callback in (log, *callbacks):
            callback.on_start(run, trainer)
            at_the_end.callback(callback.on_end, run, trainer)
        with wish.iterating():
            while not trainer.done:
                before, began = trainer.step, time.monotonic()
                metrics, episodes = trainer.iterate()
                metrics["seconds"] = round(time.monotonic() - started, 3)
                for callback in (log, *callbacks):
                    callback.on_iteration(trainer, metrics, episodes)
                wish.longest_iteration = max(wish.longest_iteration, time.monotonic() - began)
                ending = wish.made
                with wish.saving():
                    saving.after_iteration(before, metrics, ending)
                if ending and not trainer.done:
                    wish.obey()
    seconds, made = time.monotonic() - started, trainer.step - first_step
    stopped = {} if trainer.stop_reason is None else {"stopped": trainer.stop_reason}
    run.finish(
        {
            "step": trainer.step,
            "seconds": round(seconds, 3),
            "steps_per_second": round(made / max(seconds, 1e-9), 1) if made else None,
            "measures": trainer.measures(),
        }
        | stopped
    )
